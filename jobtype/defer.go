package jobtype

import (
	"errors"
	"time"
)

// Bounds of [Deferral.After]. A run takes the nearest bound for a time outside.
const (
	MinDeferral = Duration(time.Second)
	MaxDeferral = Duration(24 * time.Hour)
)

// Deferral is an error of [Handler.Execute] that means "not now": the job waits for After and is tried again on any
// worker. It takes no retry of retry_limit. The waiting job uses no slot, place, pool or object. The wait ends at the
// latest with the run: max_runtime of a job type, the timeout of a DAG.
type Deferral struct {
	After Duration
	// Reason is shown to operators.
	Reason string
	// Guard: a condition is not met, and the work has not begun. Operators see GUARD instead of DEFERRED.
	Guard bool
}

func (d *Deferral) Error() string { return d.Reason }

// Defer returns the [Deferral] of a job whose time has not come.
func Defer(after time.Duration, reason string) error {
	return &Deferral{After: Duration(after), Reason: reason}
}

// DeferGuard returns the [Deferral] of a job whose condition is not met. every is the pause between checks.
func DeferGuard(every time.Duration, reason string) error {
	return &Deferral{After: Duration(every), Reason: reason, Guard: true}
}

// AsDeferral returns the [Deferral] in err; nil if there is none.
func AsDeferral(err error) *Deferral {
	deferral, _ := errors.AsType[*Deferral](err)
	return deferral
}
