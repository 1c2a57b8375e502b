package dagrun

import (
	"encoding/json"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/jobtype"
)

// The kinds of decision that only a graph has. A [run.Start] is an attempt on a
// worker, with its Job.
const (
	// StartNoop: report the task ended as soon as the control plane says so.
	StartNoop run.Kind = 100 + iota
	// StartDAG: run Graph as a sub-DAG; the answer is [run.Ended].
	StartDAG
	// Insist that the canceled sub-DAG ends, its tasks with the rule always included.
	Insist
	// LookUp the job type Work; the answer is [Graph.SetJobType].
	LookUp
	// ReleaseLane reports that only approvals are open; nothing begins from now on. RequestLane
	// requests the lane, because a task can begin; the answer is [Graph.LaneGranted]. Ask numbers
	// both.
	ReleaseLane
	RequestLane
	// GrantLane answers the report Ask of a sub-DAG.
	GrantLane
	// End: the run is over, with Outcome and Reason.
	End
)

// Decision is something to be done: one of the engine's, or one of the graph's own.
// Its Item is the [dag.Index] of a task.
type Decision struct {
	run.Decision

	Job   *Job
	Graph []byte
	// Grace is how long an attempt may continue unnoticed after the run is gone
	// (Acquire).
	Grace   time.Duration
	Outcome dag.Outcome
	// Keep is for others with the key that is given back (Release); nil: nothing.
	Keep *contract.KeyResult
}

// Job is what an attempt on a worker carries besides what the engine decided.
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
