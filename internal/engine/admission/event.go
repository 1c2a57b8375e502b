package admission

import (
	"time"

	"github.com/roundsman/roundsman/contract"
)

// Event is an input of the core. The set is closed.
type Event interface{ apply(c *Core, now time.Time) }

// Requested is a message of a holder: first its releases, then its requests.
type Requested contract.AdmissionRequest

// ReEnabled lifts the hold of a key, or without one of the job type, and drops the failures.
type ReEnabled contract.ReEnableInput

// Forgiven is an operator's message: it drops the failures and the hold of a key.
type Forgiven contract.ForgiveInput

// MarkedDone drops the failures of a key, which is granted to no holder before Until.
type MarkedDone struct {
	contract.MarkDoneInput
	Until time.Time
}

// Closed means that a holder has ended, in any way.
type Closed struct{ Holder contract.AdmissionHolder }

// Expected names workflows that must report before a recovering core grants. Final means that the list is complete.
type Expected struct {
	IDs   []string
	Final bool
}

// Unlisted means that those workflows could not be listed. Admission lists them again until the limit of the recovery.
type Unlisted struct{ Reason string }

// Repeated means: a holder may have missed answers. Claims are not answered again: their answer lists taken keys.
type Repeated contract.AdmissionHolder

// Recover drops all grants after a reset. Durable is the data of the run before the reset, if readable.
type Recover struct{ Durable Durable }

// Inherited is the data of the run before a reset, if it was queried later.
type Inherited struct{ Durable Durable }

// Resized is an operator's size of a pool; 0 returns to the declared one.
type Resized struct {
	Pool string
	Size int
}

// Tick means that time has passed: [Core.NextDeadline] was reached.
type Tick struct{}

func (Tick) apply(*Core, time.Time) {}
