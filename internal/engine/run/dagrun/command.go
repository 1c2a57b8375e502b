package dagrun

import (
	"encoding/json"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/jobtype"
)

// Commands of a graph. Their items are tasks, by [dag.Index].

// StartJob is a [run.Decision] of the kind Start: an attempt on a worker.
type StartJob struct {
	run.Decision

	Job Job
}

// StartNoop ends the task as soon as the control plane confirms it.
type StartNoop struct{ run.Decision }

// StartDAG runs Graph as a sub-DAG. The answer is [run.Ended].
type StartDAG struct {
	run.Decision

	Graph []byte
}

// Insist ends the canceled sub-DAG of a task, its tasks with the rule always included.
type Insist struct {
	Item   int
	Reason string
}

// LookUp looks up a job type. The answer is [JobTypeKnown].
type LookUp struct{ JobType string }

// ReportLane reports to the group that only approvals are open. With Wants it requests the lane: the answer is [LaneGranted].
type ReportLane struct {
	Seq   int
	Wants bool
}

// ReleaseKey is a [run.Decision] of the kind Release, with the result for others with the same key.
type ReleaseKey struct {
	run.Decision

	Result contract.KeyResult
}

// ReportEndings reports to admission the ends of attempts that count against retry budgets.
type ReportEndings struct{ Endings []contract.TaskEnding }

// End ends the run.
type End struct {
	Outcome dag.Outcome
	Reason  string
}

// Job is the content of an attempt on a worker, besides the engine's decision.
type Job struct {
	Handler string
	// JobType is empty for a command task.
	JobType string
	// Command is the program and its arguments, for the command handler.
	Command []string
	// Launch has the keys of its program, as JSON without templates; empty if it has none.
	Launch json.RawMessage
	// Params are the task's own, as JSON; empty if it has none.
	Params json.RawMessage
	// Policy has the limits that the worker enforces.
	Policy jobtype.Policy
}
