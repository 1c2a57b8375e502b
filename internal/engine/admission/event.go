package admission

import (
	"time"

	"github.com/roundsman/roundsman/contract"
)

// Event is something that happened. The set is closed.
type Event interface{ apply(c *Core, now time.Time) }

// Requested is a message of a holder: what it gives back, then what it asks for.
type Requested contract.AdmissionRequest

// ReEnabled is an operator's message: what a broken rule disables is enabled again,
// and its failures are forgotten. Without a key it is the job type.
type ReEnabled contract.ReEnableInput

// Forgiven is an operator's message: nothing is held against the key any more.
type Forgiven contract.ForgiveInput

// MarkedDone is an operator's message: what the key stands for is done. Its
// failures are forgotten, and nobody gets it until then.
type MarkedDone struct {
	contract.MarkDoneInput
	Until time.Time
}

// Closed says that a holder has ended, however it did.
type Closed struct{ Holder contract.AdmissionHolder }

// Expected names workflows that a recovering core must hear before it grants. Final
// says that no more will be named.
type Expected struct {
	IDs   []string
	Final bool
}

// Repeated says that a holder may have missed answers: what it was granted is
// answered again. Claims are not: their answer says which keys were taken.
type Repeated contract.AdmissionHolder

// Recover makes the core forget what is held: it was reset to an earlier state.
// Durable is what the run before the reset knew, if it could be asked.
type Recover struct{ Durable Durable }

// Inherited is what the run before a reset knew, if it was asked later.
type Inherited struct{ Durable Durable }

// Resized is an operator's size of a pool; 0 returns to the declared one.
type Resized struct {
	Pool string
	Size int
}

// Tick says that time has passed: [Core.NextDeadline] was reached.
type Tick struct{}

func (Tick) apply(*Core, time.Time) {}
