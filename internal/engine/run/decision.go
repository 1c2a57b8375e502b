package run

import (
	"encoding/json"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// Kind says what a [Decision] asks for.
type Kind uint8

// The kinds of decision.
const (
	// Start an attempt of the item.
	Start Kind = iota + 1
	// Cancel the running attempt; its end is still expected.
	Cancel
	// Forget the running attempt: its end is no longer waited for.
	Forget
	// Abandon the running attempt in its worker's place. It ends as a lost worker,
	// or with what really happened if that is quicker.
	Abandon
	// Adopt the running attempt again, which the server has timed out and whose worker
	// may still run it: another activity takes its place, as adoption number Adoption.
	// It ends as the attempt ends, or with FailureNotRunning.
	Adopt
	// Probe the worker; the answer is [WorkerProbed].
	Probe
	// ReportTrouble tells the registry that programs do not start on the worker, with the
	// code Trouble; ClearTrouble that they do again.
	ReportTrouble
	ClearTrouble
	// Watch the fleet from now on; the answers are [WorkersChanged].
	Watch
	// Acquire the item's [Needs] with the number Ask; the answer is [Granted] or
	// [Refused], however long it takes, perhaps after [Waits].
	Acquire
	// Release what Ask acquired, granted or not.
	Release
	// MoreFences asks for another range of fences; the answer is [FencesGranted].
	MoreFences
)

// Decision is something that the workflow has to do.
type Decision struct {
	Kind          Kind
	Item, Attempt int
	// Worker and Instance name the process; empty on Start: the shared queue, or
	// none.
	Worker, Instance string
	// Start: Bytes is the size of the attempt's input, as estimated.
	Work             string
	Bytes            int
	Fence            int64
	Timeout          time.Duration
	HeartbeatTimeout time.Duration
	Checkpoint       json.RawMessage
	// Shared: the attempt goes to the shared queue of its job type.
	Shared bool
	// Adopt.
	Adoption int
	// Acquire, Release.
	Ask   int
	Needs *Needs
	// At is when an attempt starts.
	At time.Time
	// Labels are those that the item asked for.
	Labels map[string]string
	// Trouble is the code of ReportTrouble.
	Trouble contract.Code
	Reason  string
}

// ReportKind is the kind of a [Report].
type ReportKind uint8

// The kinds of report.
const (
	// Settled: the item has ended and is forgotten.
	Settled ReportKind = iota + 1
	// AttemptFailed: the item's handler has failed; the item may be tried again.
	AttemptFailed
	// Admitted: the item has its resources; [Engine.Proceed] lets it start.
	Admitted
	// Crowded: others hold what the item needs. Reported with [Config.Admit], perhaps twice.
	Crowded
	// Deferred: the item waits for its time, and takes no place. Due: that time has come;
	// [Engine.Proceed] lets it continue. Both are reported with [Config.Admit].
	Deferred
	Due
)

// Report is an event of an item for the source.
type Report struct {
	Kind  ReportKind
	Item  int
	State State
	// Message is why the item did not complete, or what it warns of.
	Message string
	// Ending is that of the last attempt, where it settled the item.
	Ending  Ending
	Attempt int
	Worker  string
	// Cut: only the run's own end kept the item from completing.
	Cut bool
	// Late: it did not fit before the window closed.
	Late bool
	// Resumed: its last attempt continued from a checkpoint.
	Resumed    bool
	Checkpoint json.RawMessage
	Done       float64
	StartedAt  time.Time
	// Known is the result of the item's key (Admitted).
	Known *contract.KeyResult
}
