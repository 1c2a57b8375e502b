package run

import (
	"encoding/json"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// Kind is the kind of a [Decision].
type Kind uint8

// The kinds of decision.
const (
	// Start an attempt of the item.
	Start Kind = iota + 1
	Cancel
	Forget
	// Abandon the running attempt in its worker's place. Its real outcome counts if that arrives first.
	Abandon
	// Adopt the running attempt, which the server has timed out and whose worker may still run it: another activity
	// replaces the first one. It ends as the attempt ends, or with FailureNotRunning.
	Adopt
	Probe
	// ReportTrouble reports that programs do not start on the worker, with the code Trouble.
	ReportTrouble
	ClearTrouble
	Watch
	// Acquire the item's [Needs] with the number Ask. The answer is [Granted] or [Refused], perhaps after [Waits].
	Acquire
	Release
	// MoreFences requests another range of fences; the answer is [FencesGranted].
	MoreFences
)

// Decision is an action for the workflow.
type Decision struct {
	Kind          Kind
	Item, Attempt int
	// Worker and Instance are empty on Start for the shared queue, or for no worker.
	Worker, Instance string
	// For Start: Bytes is the estimated size of the attempt's input.
	Work             string
	Bytes            int
	Fence            int64
	Timeout          time.Duration
	HeartbeatTimeout time.Duration
	Checkpoint       json.RawMessage
	// Shared sends the attempt to the shared queue of its job type.
	Shared bool
	// For Adopt.
	Adoption int
	// Ask and Needs are for Acquire and Release.
	Ask     int
	Needs   *Needs
	At      time.Time
	Labels  map[string]string
	Trouble contract.Code
	Reason  string
}

// Size estimates the size of the command.
func (d Decision) Size() int { return d.Bytes }

// ReportKind is the kind of a [Report].
type ReportKind uint8

// The kinds of report.
const (
	// Settled means that the item has ended and is forgotten.
	Settled ReportKind = iota + 1
	// AttemptFailed means that the item's handler has failed; the item may be tried again.
	AttemptFailed
	// Admitted means that the item has its resources; [Engine.Proceed] starts it.
	Admitted
	// Crowded means that others hold the item's needs. Reported with [Config.Admit], perhaps twice.
	Crowded
	// Deferred: the item waits for its time without a concurrency slot. Due: the time has come, see [Engine.Proceed].
	Deferred
	Due
)

// Report is an event of an item for the source.
type Report struct {
	Kind  ReportKind
	Item  int
	State State
	// Message is the reason why the item did not complete, or its warning.
	Message string
	// Ending is the ending of the last attempt, if it settled the item.
	Ending  Ending
	Attempt int
	Worker  string
	// Cut means that only the run's own end kept the item from completing.
	Cut bool
	// Late means that it did not fit before the window closed.
	Late bool
	// Resumed means that its last attempt continued from a checkpoint.
	Resumed    bool
	Checkpoint json.RawMessage
	Done       float64
	StartedAt  time.Time
	// Known is the result of the item's key (Admitted).
	Known *contract.KeyResult
}
