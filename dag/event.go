package dag

import (
	"fmt"

	"github.com/roundsman/roundsman/dag/internal/graph"
	"github.com/roundsman/roundsman/dag/internal/wire"
)

// EventKind is what happened or what an operator requests.
type EventKind uint8

// Reports: what became of a task. A report about a task that is already terminal
// is late or repeated and changes nothing.
const (
	// EventStart begins the run. Repeating it changes nothing.
	EventStart EventKind = iota
	// EventStarted says that a task given by DecisionStart really runs. Nothing
	// depends on it; it is accepted so that every report can be passed on.
	EventStarted
	// EventSucceeded ends a running task well. With Event.Growth it is a splitter:
	// the growth is inserted between the task and its dependants in the same step.
	EventSucceeded
	// EventDeferred says that a running task continues when what it adds, with
	// Event.Growth, has ended as its rule wants: it waits for that, and is started
	// again. A task with the rule one_failed cannot.
	EventDeferred
	// EventFailed ends a running task badly, retries exhausted.
	EventFailed
	// EventCanceled ends a running task that was canceled, by us or by others.
	EventCanceled
	// EventSkipped ends a running task whose condition turned out false.
	EventSkipped
	// EventAdmit says that a gated task, which was started, has what it needed from
	// outside: DecisionProceed follows, now or when a place is free. Repeating it
	// changes nothing, nor does it for a task that is being canceled.
	EventAdmit
	// EventWithdraw takes EventAdmit back, because the task gave back what it had. It
	// changes nothing for a task that does not wait for its place.
	EventWithdraw

	// EventRetry revives what failed. With Task, that task (failed or canceled) and
	// what it blocked; with None, every failed or canceled task and what they blocked.
	// When no failure is left under the policy Stop, what it had stopped comes back
	// too; the same holds for EventSkip and EventRerun.
	EventRetry
	// EventSkip makes a task that is not running count as done without running it;
	// what it blocked is revived.
	EventSkip
	// EventRerun makes a terminal task and all its descendants run again.
	EventRerun
	// EventCancelTask cancels one task: at once if it has not started, else by a
	// DecisionCancel whose report ends it.
	EventCancelTask
	// EventCancelRun cancels everything but tasks with the rule always; a second
	// one cancels those too. The run ends canceled.
	EventCancelRun
	// EventDeadline is EventCancelRun because time is up: the run ends failed and
	// is never held.
	EventDeadline
	// EventPause stops starting tasks; running tasks continue. EventCancelRun and
	// EventDeadline end it.
	EventPause
	// EventResume undoes EventPause.
	EventResume
	// EventAddTasks inserts Event.Growth.
	EventAddTasks
	// EventSetConcurrency changes the limit to Event.Limit, that of the run or, with
	// Event.FanOut, that of a fan-out; running tasks continue.
	EventSetConcurrency
	// EventRelease ends a held run with its outcome, failed.
	EventRelease

	eventCount
)

var eventNames = [eventCount]string{ //nolint:gochecknoglobals // constant table
	"start", "started", "succeeded", "deferred", "failed", "canceled", "skipped", "admit", "withdraw",
	"retry", "skip", "rerun", "cancel-task", "cancel-run", "deadline", "pause", "resume",
	"add-tasks", "set-concurrency", "release",
}

// String returns the kind's name as operators write it.
func (k EventKind) String() string { return wire.NameOf(eventNames[:], int(k), "EventKind") }

// Event is one input of [Run.Next].
type Event struct {
	Kind EventKind
	// Task the event is about; None with EventRetry means all. Ignored where the
	// kind is about the run.
	Task Index
	// Limit is the new concurrency limit (EventSetConcurrency); 0 means unlimited. That
	// of a fan-out is at least 1.
	Limit int
	// FanOut names the fan-out whose limit changes (EventSetConcurrency); empty: the
	// run's own.
	FanOut string
	// Growth is what to insert (EventAddTasks; optional with EventSucceeded).
	Growth *Growth
}

// DecisionKind says what the caller has to do.
type DecisionKind uint8

// The decisions.
const (
	// DecisionStart: start Decision.Task and report how it ends. A gated task has no
	// place yet: get what it needs and say EventAdmit first.
	DecisionStart DecisionKind = iota
	// DecisionProceed: Decision.Task, which was admitted, has its place.
	DecisionProceed
	// DecisionCancel: cancel Decision.Task, which runs; its report is still expected.
	DecisionCancel
	// DecisionHold: the run would fail; park it for an operator.
	DecisionHold
	// DecisionFinish: the run is over, with Decision.Outcome.
	DecisionFinish

	decisionCount
)

var decisionNames = [decisionCount]string{"start", "proceed", "cancel", "hold", "finish"} //nolint:gochecknoglobals // constant table

// String returns the kind's name.
func (k DecisionKind) String() string { return wire.NameOf(decisionNames[:], int(k), "DecisionKind") }

// Decision is one output of [Run.Next].
type Decision struct {
	Kind    DecisionKind
	Outcome Outcome // DecisionFinish only
	Task    Index   // DecisionStart, DecisionProceed and DecisionCancel; None otherwise
}

// String is for tests and logs.
func (d Decision) String() string {
	if d.Task == None {
		return fmt.Sprintf("%s %s", d.Kind, d.Outcome)
	}
	return fmt.Sprintf("%s %d", d.Kind, d.Task)
}

// Transition is one change of a task's state within a step.
type Transition struct {
	Task     Index
	From, To State
}

// Reason classifies a refusal, for callers that decide by it.
type Reason string

// The reasons for which an event is refused.
const (
	RefusedNotStarted  Reason = "NOT_STARTED"    // the run has not begun
	RefusedFinished    Reason = "FINISHED"       // the run is over
	RefusedCanceling   Reason = "CANCELING"      // the run is being canceled
	RefusedUnknownTask Reason = "UNKNOWN_TASK"   // no such task
	RefusedState       Reason = graph.WrongState // the task's or run's state does not allow it
	RefusedInvalid     Reason = "INVALID"        // the event itself makes no sense
)

// Refusal is the error of an event that was not accepted. The run is unchanged.
type Refusal struct {
	Event  EventKind
	Reason Reason
	Task   Index  // None when the refusal is not about a task
	ID     string // its id
	Detail string // why, and what to do instead
}

// Error says what was refused, why, and what to do instead.
func (r *Refusal) Error() string {
	if r.ID == "" {
		return fmt.Sprintf("%s refused: %s", r.Event, r.Detail)
	}
	return fmt.Sprintf("%s refused for task %q: %s", r.Event, r.ID, r.Detail)
}
