package run

import (
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run/attempt"
)

// Event is an input of the engine. The set is closed.
type Event interface {
	apply(e *Engine, now time.Time)
}

// Tick means that time has passed: [Engine.NextWake] was reached.
type Tick struct{}

func (Tick) apply(*Engine, time.Time) {}

// WorkersChanged is a view of the fleet. In an incomplete one the absence of a worker means nothing. A partial view
// has the changed workers and, in Gone, the removed ones.
type WorkersChanged struct {
	Workers    []contract.WorkerView
	Incomplete bool
	Partial    bool
	Gone       []string
}

// WorkerProbed answers a [Probe] decision.
type WorkerProbed struct {
	ID, Instance string
	Alive        bool
	// Last heartbeat by the worker's clock, zero if unknown, and the used slots in it.
	BeatAt time.Time
	Used   int
}

// WorkerHasRoom means: a worker which returned an item has a free slot for that handler again.
type WorkerHasRoom struct {
	ID, Instance, Handler string
	Load                  LoadReport
}

// Ended is the end of an attempt, as reported by the server.
type Ended struct {
	Item, Attempt int
	Ending        Ending
}

// Delivered is an ending from the worker itself, because the server had ended its attempt.
type Delivered struct {
	Item int
	// Attempt and Fence identify the attempt; 0 if unknown.
	Attempt int
	Fence   int64
	Ending  Ending
}

// Granted answers [Acquire]: the item has its resources, with Fences fences from Fence on.
type Granted struct {
	Item, Ask     int
	Fence, Fences int64
	// Result is the result of the key's last holder; nil if unknown.
	Result *contract.KeyResult
}

// Waits answers [Acquire]: [Granted] or [Refused] follows later.
type Waits struct{ Item, Ask int }

// Refused answers [Acquire]: the item will never get its resources.
type Refused struct {
	Item, Ask int
	Reason    string
}

// Revoked means that another holder has the item's resources.
type Revoked struct {
	Item, Ask int
	Reason    string
}

// Renewed replaces the fences of an item after a reset, which has forgotten the used ones.
type Renewed struct {
	Item, Ask     int
	Fence, Fences int64
}

// FencesGranted answers [MoreFences].
type FencesGranted struct{ Fence, Fences int64 }

// Failure is the kind of an attempt's failure; empty for a success.
type Failure = contract.FailureKind

// Ending is the end of an attempt.
type Ending = attempt.Ending
