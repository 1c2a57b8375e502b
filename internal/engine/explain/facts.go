package explain

import (
	"time"

	"github.com/roundsman/roundsman/contract"
)

// Facts is what is known. Whatever could not be found out is left empty, with
// Down saying why.
type Facts struct {
	Now time.Time
	// Type is set for a job type; Runs are its open runs then, MoreRuns counts
	// those that were not looked at.
	Type     *TypeFacts
	Runs     []RunFacts
	MoreRuns int
	// Run is the run in question, or that of the item in question.
	Run  *RunFacts
	Item *ItemFacts
	// Worker is the worker in question. Workers is the registry, which is asked
	// where somebody waits for a worker.
	Worker  *WorkerFacts
	Workers []contract.WorkerDetail
	// Receiver is the receiver of notifications in question.
	Receiver *ReceiverFacts
	// Asked are workers, by id, that somebody doubts and whose processes were asked
	// for that reason.
	Asked map[string]WorkerFacts
	// Taker is the worker that the job or task was sent to and that has not taken
	// it yet, since SentAt.
	Taker  *WorkerFacts
	SentAt time.Time
	// Inner are explanations of what the thing itself waits for: the runs of the
	// sub-DAGs of a run or a job.
	Inner []Inner
	// Admission is nil if it was not asked. NoAdmission: it was, and has ended or does
	// not exist yet.
	Admission   *contract.AdmissionView
	NoAdmission bool
	// Holds is what is held back of the job type.
	Holds []contract.AdmissionHold
	// Down says what the control plane did not answer, DownSince when it last
	// showed a sign of life, if the server still knows.
	Down      string
	DownSince time.Time
	// Frozen are workflows among those that were asked that somebody paused in
	// Temporal itself: they answer nothing.
	Frozen []FrozenFacts
	// Stuck are those that the control plane's code cannot continue with.
	Stuck []StuckFacts
}

// TypeFacts is what the Schedule says.
type TypeFacts struct {
	Name string
	// Wants are the needs of its work: of its handler, or of the tasks of its DAG.
	Wants            []Wanted
	Paused, Disabled bool
	PauseNote        string
	// PausedBy and PausedAt are empty if nobody knows.
	PausedBy string
	PausedAt time.Time
	// Next is the coming tick, LastTick the one before; zero: none.
	Next, LastTick time.Time
	// ChangedAt is when the Schedule was last changed by an apply.
	ChangedAt time.Time
	// WindowClosed says why its maintenance window is closed, empty if it is not;
	// WindowSince and WindowOpens when that began and ends, as far as it is known.
	WindowClosed             string
	WindowSince, WindowOpens time.Time
}

// RunFacts is what the server and a run of either kind say.
type RunFacts struct {
	ID string
	// JobType is that of a job group, DAG the name of a DAG; the other is empty.
	JobType, DAG string
	Open         bool
	Outcome      string
	StartedAt    time.Time
	// Answer is nil if the run did not answer.
	Answer *RunAnswer
	// Pending are pending items, the most urgent ones. MorePending counts the others.
	Pending     []ItemFacts
	MorePending int
}

// RunAnswer is what a run says of itself.
type RunAnswer struct {
	Phase string
	// Running counts attempts and sub-DAGs.
	Running int
	// Waits is what the run as a whole waits for, More counts what was left out.
	Waits []contract.WaitReason
	More  int
	// Deduped and HeldBack are proposals that a group does not work on.
	Deduped  []contract.DedupedProposal
	HeldBack []contract.AdmissionHold
	// Missed are the workers that a run for every worker does not reach.
	Missed []contract.MissedWorker
}

// ItemFacts is what a run says of one item.
type ItemFacts struct {
	ID, State string
	// Key is the dedupe key of a job.
	Key string
	// Waits is empty for an item that waits for nothing. One that is upstream_failed
	// has ended and still has one: what it needed.
	Waits []contract.WaitReason
}

// Inner is the explanation of something inside the thing in question.
type Inner struct {
	Name    string
	Reasons []Reason
}
