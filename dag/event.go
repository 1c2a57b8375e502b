package dag

import (
	"fmt"

	"github.com/roundsman/roundsman/dag/internal/graph"
	"github.com/roundsman/roundsman/dag/internal/wire"
)

// EventKind is the kind of a report or of an operator's request.
type EventKind uint8

// Reports about tasks. A report about a terminal task is late or repeated and changes nothing.
const (
	// EventStart begins the run. Repeating it changes nothing.
	EventStart EventKind = iota
	// EventStarted reports the start of a task. It has no effect, so that callers can pass every report on.
	EventStarted
	// EventCompleted ends a running task. With Event.Growth the task is a splitter: the growth is inserted between it
	// and its dependants in the same step.
	EventCompleted
	// EventDeferred suspends a running task until the tasks of Event.Growth have ended as its rule requires. Tasks
	// with the rule one_failed cannot be deferred.
	EventDeferred
	// EventFailed ends a running task as failed, after all retries.
	EventFailed
	EventCanceled
	// EventSkipped ends a running task with a false condition.
	EventSkipped
	// EventAdmit reports that a started gated task has its external resources. DecisionProceed follows when a place is free.
	EventAdmit
	// EventCrowded reports that others hold the external resources of a gated task, which then does not count among
	// the tasks at their gates.
	EventCrowded
	// EventWithdraw reverts EventAdmit, because the task returned its resources.
	EventWithdraw
	// EventYield takes the place of a running metered task, which waits at its gate until EventAdmit.
	EventYield

	// EventRetry revives failed tasks and the tasks blocked by them: Task, or with None all failed or canceled ones.
	// Under the policy Stop, removing the last failure also revives the tasks canceled by the policy; EventSkip and
	// EventRerun do the same.
	EventRetry
	// EventSkip marks a task as done without running it, and revives the tasks blocked by it.
	EventSkip
	// EventRerun runs a terminal task and all its descendants again.
	EventRerun
	// EventCancelTask cancels one task: at once before its start, otherwise by a DecisionCancel.
	EventCancelTask
	// EventCancelRun cancels everything except tasks with the rule always; a second one cancels those too.
	EventCancelRun
	// EventDeadline is EventCancelRun at the deadline. The run ends failed and is never held.
	EventDeadline
	// EventPause stops the start of tasks. EventCancelRun and EventDeadline end it.
	EventPause
	EventResume
	EventAddTasks
	// EventSetConcurrency sets the limit of the run, or of Event.FanOut, to Event.Limit. Running tasks continue.
	EventSetConcurrency
	// EventRelease ends a held run with its outcome, failed.
	EventRelease

	eventCount
)

var eventNames = [eventCount]string{ //nolint:gochecknoglobals // constant table
	"start", "started", "completed", "deferred", "failed", "canceled", "skipped", "admit", "crowded", "withdraw", "yield",
	"retry", "skip", "rerun", "cancel-task", "cancel-run", "deadline", "pause", "resume",
	"add-tasks", "set-concurrency", "release",
}

// String returns the name of the kind in texts for operators.
func (k EventKind) String() string { return wire.NameOf(eventNames[:], int(k), "EventKind") }

// Event is one input of [Run.Next].
type Event struct {
	Kind EventKind
	// Subject of the event; None with EventRetry means all.
	Task Index
	// New concurrency limit; 0 means unlimited. The limit of a fan-out is at least 1.
	Limit int
	// FanOut is the fan-out whose limit changes (EventSetConcurrency); empty means the run.
	FanOut string
	// Growth is the set of tasks to insert (EventAddTasks; optional with EventCompleted).
	Growth *Growth
}

// DecisionKind is the kind of an action for the caller.
type DecisionKind uint8

const (
	// DecisionStart means: start Decision.Task and report its end. A gated task first needs its resources and EventAdmit.
	DecisionStart DecisionKind = iota
	// DecisionProceed means: the admitted Decision.Task has its place.
	DecisionProceed
	// DecisionCancel means: cancel the running Decision.Task. Its report is still expected.
	DecisionCancel
	// DecisionHold means: the run would fail; hold it for an operator.
	DecisionHold
	// DecisionFinish means: the run is over, with Decision.Outcome.
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

// Reason is the kind of a refusal, for callers that decide by it.
type Reason string

// The reasons to refuse an event.
const (
	RefusedNotStarted  Reason = "NOT_STARTED"    // the run has not begun
	RefusedFinished    Reason = "FINISHED"       // the run is over
	RefusedCanceling   Reason = "CANCELING"      // the run is being canceled
	RefusedUnknownTask Reason = "UNKNOWN_TASK"   // no such task
	RefusedState       Reason = graph.WrongState // the task's or run's state does not allow it
	RefusedInvalid     Reason = "INVALID"        // the event itself makes no sense
)

// Refusal is the error of a refused event. The run is unchanged.
type Refusal struct {
	Event  EventKind
	Reason Reason
	Task   Index  // None if the refusal concerns no task
	ID     string // its id
	Detail string // why, and what to do instead
}

// Error returns the refused event, the reason and the remedy.
func (r *Refusal) Error() string {
	if r.ID == "" {
		return fmt.Sprintf("%s refused: %s", r.Event, r.Detail)
	}
	return fmt.Sprintf("%s refused for task %q: %s", r.Event, r.ID, r.Detail)
}
