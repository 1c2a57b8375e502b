package run

import (
	"encoding/json"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// Event is something that happened. The set is closed.
type Event interface {
	apply(e *Engine, now time.Time)
}

// Tick says that time has passed: [Engine.NextWake] was reached.
type Tick struct{}

func (Tick) apply(*Engine, time.Time) {}

// WorkersChanged is a view of the fleet. A whole one replaces the view before it; in
// an incomplete one the absence of a worker means nothing. A partial one has the
// workers that have changed and, in Gone, those that are in the view no more.
type WorkersChanged struct {
	Workers    []contract.WorkerView
	Incomplete bool
	Partial    bool
	Gone       []string
}

// WorkerProbed answers a [ProbeWorker] decision.
type WorkerProbed struct {
	ID, Instance string
	Alive        bool
	// BeatAt is the time of its last heartbeat by its own clock, zero if unknown;
	// Used how many slots it used then.
	BeatAt time.Time
	Used   int
}

// WorkerHasRoom says that a worker which returned an item has a free slot for
// that handler again.
type WorkerHasRoom struct {
	ID, Instance, Handler string
	Load                  LoadReport
}

// Ended says how an attempt ended, as the server reports it.
type Ended struct {
	Item, Attempt int
	Ending        Ending
}

// Delivered is an ending that a worker delivered by itself, because the server
// had ended its attempt. It counts until another attempt starts.
type Delivered struct {
	Item int
	// Attempt and Fence name the attempt; 0: unknown.
	Attempt int
	Fence   int64
	Ending  Ending
}

// Granted answers [Acquire]: the item has its resources, with Fences fences from
// Fence on.
type Granted struct {
	Item, Ask     int
	Fence, Fences int64
	// Result is what the last one returned that held the item's key; nil: unknown.
	Result *contract.KeyResult
}

// Waits answers [Acquire]: the item cannot have its resources yet. [Granted] or [Refused]
// follows.
type Waits struct{ Item, Ask int }

// Refused answers [Acquire]: the item will never get its resources.
type Refused struct {
	Item, Ask int
	Reason    string
}

// Revoked says that another holder has what the item was granted.
type Revoked struct {
	Item, Ask int
	Reason    string
}

// Renewed replaces the fences of an item that has its resources: the run was
// reset, and has forgotten which fences it used.
type Renewed struct {
	Item, Ask     int
	Fence, Fences int64
}

// FencesGranted answers [MoreFences].
type FencesGranted struct{ Fence, Fences int64 }

// Failure says why an attempt failed; empty means that it succeeded.
type Failure = contract.FailureKind

// Ending is how an attempt ended.
type Ending struct {
	Failure Failure `json:"f,omitempty"`
	Message string  `json:"m,omitempty"`
	// Warning is what the handler of a success warns of.
	Warning string `json:"wn,omitempty"`
	// Unreported: the server ended the attempt by itself, and its worker may still
	// report how it really ended.
	Unreported bool `json:"u,omitempty"`
	// Silent: the server heard nothing of the attempt for its heartbeat timeout, and
	// its handler had not stalled: its worker may still run it.
	Silent bool `json:"s,omitempty"`
	// Gone: the worker reported that the process that ran the attempt for it is gone.
	// No outcome will come.
	Gone bool `json:"g,omitempty"`
	// Delay is the time until the next attempt of a deferred item.
	Delay time.Duration `json:"dl,omitempty"`
	// Checkpoint is the last one known, for the next attempt; Done is how much of
	// the item it stands for, in percent.
	Checkpoint json.RawMessage `json:"c,omitempty"`
	Done       float64         `json:"d,omitempty"`
	// Worker ran the attempt, as the process Instance; empty if unknown.
	Worker   string `json:"w,omitempty"`
	Instance string `json:"i,omitempty"`
	// Load is what the worker runs for others.
	Load     LoadReport    `json:"-"`
	Duration time.Duration `json:"t,omitempty"`
	// Result of a success: a JSON object, or empty.
	Result json.RawMessage `json:"-"`
}

// Reported is true for an ending by the worker, false for one by the server.
func (e Ending) Reported() bool {
	return !e.Unreported && e.Failure != contract.FailureWorkerLost && e.Failure != contract.FailureNotRunning && e.Failure != contract.FailureNotTaken
}
