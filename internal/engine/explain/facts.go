package explain

import (
	"time"

	"github.com/roundsman/roundsman/contract"
)

// Facts are the inputs of an explanation. Facts that could not be read are empty; Down is the
// error.
type Facts struct {
	Now time.Time
	// Type is set for a job type; Runs are its open runs, MoreRuns counts the runs not read.
	Type     *TypeFacts
	Runs     []RunFacts
	MoreRuns int
	// Run is the run to explain, or that of the item to explain.
	Run  *RunFacts
	Item *ItemFacts
	// Worker is the worker to explain. Workers is the registry, read if a run waits for a
	// worker.
	Worker   *WorkerFacts
	Workers  []contract.WorkerDetail
	Receiver *ReceiverFacts
	// Asked has the reports of suspect workers, by id.
	Asked map[string]WorkerFacts
	// Taker is the worker that has not started the sent job or task yet; SentAt is the time of
	// sending.
	Taker  *WorkerFacts
	SentAt time.Time
	// Inner are explanations of inner runs: those of the sub-DAGs of a run or a job.
	Inner []Inner
	// Admission is nil if it was not queried. NoAdmission means that it has ended or does not
	// exist yet.
	Admission   *contract.AdmissionView
	NoAdmission bool
	Holds       []contract.AdmissionHold
	// Down is the error of an unanswered query.
	Down    string
	Control ControlFacts
	// Frozen are queried workflows that were paused in Temporal itself. They do not respond.
	Frozen []FrozenFacts
	// Stuck are workflows that the control plane's code cannot continue.
	Stuck []StuckFacts
}

// ControlFacts are those of a control plane that does not answer.
type ControlFacts struct {
	// LastPoll is its last sign of life, if known. Slow means that it is recent: a control plane is slow or has just ended.
	LastPoll time.Time
	Slow     bool
}

// TypeFacts are the facts from the Schedule.
type TypeFacts struct {
	Name string
	// Wants are the needs of its work: of its handler, or of the tasks of its DAG.
	Wants            []Wanted
	Paused, Disabled bool
	PauseNote        string
	// PausedBy and PausedAt are empty if unknown.
	PausedBy string
	PausedAt time.Time
	// Next is the coming tick, LastTick the one before; zero if there is none.
	Next, LastTick time.Time
	ChangedAt      time.Time
	// WindowClosed is the reason for a closed maintenance window, or empty. WindowSince and
	// WindowOpens are its bounds, if known.
	WindowClosed             string
	WindowSince, WindowOpens time.Time
}

// RunFacts are the facts from the server and from a run of either kind.
type RunFacts struct {
	ID string
	// JobType is set for a job group, DAG for a DAG run.
	JobType, DAG string
	Open         bool
	Outcome      string
	StartedAt    time.Time
	// Answer is nil if the run did not respond.
	Answer *RunAnswer
	// Pending has one entry for each wait of its pending items.
	Pending []ItemFacts
}

// RunAnswer is a run's own report.
type RunAnswer struct {
	Phase   string
	Running int
	// Waits are the waits of the run as a whole; More counts the omitted ones.
	Waits []contract.WaitReason
	More  int
	// Deduped and HeldBack are proposals that a group does not execute.
	Deduped  []contract.DedupedProposal
	HeldBack []contract.AdmissionHold
	// Missed are the workers that a run for every worker does not reach.
	Missed []contract.MissedWorker
}

// ItemFacts is a run's report of one item.
type ItemFacts struct {
	ID, State string
	Key       string
	// More counts the other items of the run with the same waits.
	More int
	// Waits is empty for an item that waits for nothing. An upstream_failed item has ended, but
	// keeps its unmet need.
	Waits []contract.WaitReason
}

// Inner is the explanation of a part of the thing.
type Inner struct {
	Name    string
	Reasons []Reason
}
