package reboot

import (
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
)

// Code is the answer to "may I reboot this node?".
type Code string

// The answers, the worst first.
const (
	// NotKnown: no fresh report says what runs there, so jobs may run unseen.
	NotKnown Code = "NOT_KNOWN"
	// WorkWaits: job types would wait that no other worker can serve now.
	WorkWaits Code = "WORK_WAITS"
	// DrainFirst: jobs run there; a drain lets them end.
	DrainFirst Code = "DRAIN_FIRST"
	// Free: nothing runs there, and other workers can serve every job type.
	Free Code = "FREE"
)

// NodeAttempt is an attempt on the worker.
type NodeAttempt struct {
	Run string `json:"run"`
	Job string `json:"job"`
	// StartedAt is when it began; zero: it is not known.
	StartedAt time.Time `json:"started_at,omitzero"`
	// Lost: its run has given the worker up, whose process may still execute it.
	Lost bool `json:"lost,omitempty"`
}

// Type is an applied job type.
type Type struct {
	Name, Handler string
	// Labels are those that a worker needs for it.
	Labels map[string]string
	// Idle: it is paused or disabled, so nothing of it waits.
	Idle bool
	// Next is when it is due.
	Next time.Time
}

// Facts are what the verdict rests on.
type Facts struct {
	Worker contract.WorkerDetail
	// Reported: a fresh report of the registered process says what runs there, which is Running.
	Reported bool
	Running  int
	// Attempts are those that the report and the open runs name.
	Attempts []NodeAttempt
	// Unsearched: not every open run was searched for attempts.
	Unsearched bool
	// Fleet are all workers, Types all applied job types.
	Fleet []contract.WorkerDetail
	Types []Type
}

// Alone is a job type that only this worker can serve now.
type Alone struct {
	Name string    `json:"name"`
	Next time.Time `json:"next,omitzero"`
}

// Verdict says whether the node may be rebooted.
type Verdict struct {
	Code Code `json:"code"`
	// Running counts what runs there as far as is known. Attempts name it, those first that a
	// run has lost: they are not part of Running.
	Running  int           `json:"running"`
	Attempts []NodeAttempt `json:"attempts"`
	// Alone are the job types that would wait.
	Alone []Alone `json:"alone"`
	// Reported is false while no fresh report says what runs there, Unsearched true while not
	// every open run was searched.
	Reported   bool `json:"reported"`
	Unsearched bool `json:"unsearched,omitempty"`
}

// Decide returns the verdict.
func Decide(f Facts) Verdict {
	v := Verdict{Attempts: slices.Clone(f.Attempts), Alone: f.alone(), Reported: f.Reported, Unsearched: f.Unsearched}
	lost := 0
	for _, attempt := range f.Attempts {
		if attempt.Lost {
			lost++
		}
	}
	v.Running = max(f.Running, len(f.Attempts)-lost)
	slices.SortStableFunc(v.Attempts, func(a, b NodeAttempt) int {
		switch {
		case a.Lost && !b.Lost:
			return -1
		case b.Lost && !a.Lost:
			return 1
		}
		return a.StartedAt.Compare(b.StartedAt)
	})
	switch {
	case !f.Reported:
		v.Code = NotKnown
	case len(v.Alone) > 0:
		v.Code = WorkWaits
	case v.Running+lost > 0:
		v.Code = DrainFirst
	case f.Unsearched && f.Worker.Registration.Remote:
		v.Code = NotKnown // A remote worker's heartbeat counts jobs, and an attempt that its run has lost is in no count.
	default:
		v.Code = Free
	}
	return v
}

// alone returns the job types that this worker can serve, if it may get work, and no other.
func (f Facts) alone() []Alone {
	others := slices.DeleteFunc(slices.Clone(f.Fleet), func(w contract.WorkerDetail) bool {
		return w.Registration.ID == f.Worker.Registration.ID
	})
	alone := []Alone{}
	for _, t := range f.Types {
		if t.Handler == "" || t.Idle {
			continue // A DAG needs no worker of its own.
		}
		wanted := explain.Wanted{JobType: t.Name, Handler: t.Handler, Labels: t.Labels}
		if wanted.CapableOf(f.Worker) && !wanted.Served(others) {
			alone = append(alone, Alone{t.Name, t.Next})
		}
	}
	slices.SortFunc(alone, func(a, b Alone) int { return strings.Compare(a.Name, b.Name) })
	return alone
}
