package flow

import (
	"encoding/json"
	"time"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/jobtype"
)

// Kind says what is to be done.
type Kind uint8

// The kinds of decision.
const (
	// StartNoop: report the task done as soon as the control plane says so.
	StartNoop Kind = iota
	// StartJob: run Decision.Job as an attempt of the task.
	StartJob
	// StartDAG: run Decision.Graph as a sub-DAG.
	StartDAG
	// Cancel the running attempt; its end is still expected.
	Cancel
	// Insist that the canceled sub-DAG ends, its tasks with the rule always included.
	Insist
	// Forget the running attempt: it was canceled and does not end.
	Forget
	// Lose the running attempt: its worker is given up for Decision.Reason. It ends
	// as a lost worker, or with what really happened if that was quicker.
	Lose
	// Probe the worker Decision.ID and answer with [Flow.Probed].
	Probe
	// Watch the fleet from now on and answer with [Flow.SetWorkers].
	Watch
	// LookUp the job type Decision.ID and answer with [Flow.SetJobType].
	LookUp
	// AskResources: ask for Decision.Ask and answer with [Flow.Granted] or
	// [Flow.Refused], however long it takes.
	AskResources
	// ReleaseResources gives Decision.Ask back, granted or not.
	ReleaseResources
	// End: the run is over.
	End
)

// Decision is something to be done.
type Decision struct {
	Kind    Kind
	Task    dag.Index // dag.None where the decision is not about a task
	Attempt int
	// Bytes estimates what an attempt carries.
	Bytes int
	Job   *Job
	Graph []byte
	Ask   *Ask
	// ID and Instance name a worker (Lose, Probe), ID a job type (LookUp).
	ID, Instance string
	Outcome      dag.Outcome
	Reason       string
}

// Job is one attempt of a task on a worker.
type Job struct {
	Handler string
	// JobType is empty for a command task.
	JobType string
	// Command is the program and its arguments, for the command handler.
	Command []string
	// Params are the task's own, as JSON; empty if it has none.
	Params json.RawMessage
	// Worker and Instance name the worker; empty for the shared queue.
	Worker, Instance string
	Labels           map[string]string
	Fence            int64
	Checkpoint       json.RawMessage
	Timeout          time.Duration
	// Policy has the limits that the worker enforces.
	Policy jobtype.Policy
}
