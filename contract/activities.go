package contract

import (
	"encoding/json"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// PrepareInput is the argument of PrepareActivity, which a group calls before it detects.
type PrepareInput struct {
	JobType    string `json:"job_type"`
	Handler    string `json:"handler"`
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	// Record is the record of the last completed run.
	Record RunRecord `json:"record"`
	// Scheduled is false for a group that no Schedule started.
	Scheduled bool `json:"scheduled"`
}

// PrepareResult is the result of PrepareActivity.
type PrepareResult struct {
	// Newest record left by a failed or canceled run, if newer than PrepareInput.Record.
	Record *RunRecord `json:"record,omitempty"`
	// Missed lists later runs without a record: terminated, timed out or ended by a bug.
	Missed []RunSummary `json:"missed,omitempty"`
	// Ticks counts the ticks that the server dropped so far; nil if unknown.
	Ticks *TickCounts `json:"ticks,omitempty"`
	// Workers lists the workers able to serve the job type; WorkersSeq is the number of that view.
	Workers    []WorkerView `json:"workers,omitempty"`
	WorkersSeq int64        `json:"workers_seq,omitempty"`
	// Incomplete: see [FleetView].
	Incomplete bool `json:"incomplete,omitempty"`
}

// DetectActivityInput is the argument of DetectActivity.
type DetectActivityInput struct {
	Handler string              `json:"handler"`
	Input   jobtype.DetectInput `json:"input"`
	// BatchBy is the template of [BatchSpec]; empty without batches.
	BatchBy string `json:"batch_by,omitempty"`
	// Liveness and StallTimeout come from the policy. Only liveness activity watches a detection.
	Liveness     jobtype.Liveness `json:"liveness,omitempty"`
	StallTimeout jobtype.Duration `json:"stall_timeout,omitempty"`
	// Group that receives the pages, and the number of this detection.
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	Attempt    int    `json:"attempt"`
	// Inline allows proposals that fit into one page of MaxInlineBytes to travel in the result.
	Inline bool `json:"inline,omitempty"`
	// Number of proposals with a dedupe key that the group itself takes; the others may lie in pages. 0: all.
	KeyedInGroup int `json:"keyed_in_group,omitempty"`
}

// MaxInlineBytes bounds the proposals in a detection's result. A history holds a thousand such results.
const MaxInlineBytes = 32 << 10

// DetectActivityResult ends a detection. The group compares Pages with the pages received by [UpdateDetectPage].
type DetectActivityResult struct {
	Worker string `json:"worker"`
	Pages  int    `json:"pages"`
	// Emitted counts all proposals, Surplus those not sent because the group was full, Duplicates those with an
	// emitted key, Invalid those that broke a rule. InvalidErrors lists the first MaxInvalidErrors.
	Emitted int `json:"emitted"`
	// More means that the handler stopped when the group was full, so more than Emitted exist.
	More          bool     `json:"more,omitempty"`
	Duplicates    int      `json:"duplicates,omitempty"`
	Surplus       int      `json:"surplus,omitempty"`
	Invalid       int      `json:"invalid,omitempty"`
	InvalidErrors []string `json:"invalid_errors,omitempty"`
	// Explanations are the handler's lines about the detection, at most [jobtype.MaxExplanations].
	Explanations []string `json:"explanations,omitempty"`
	// Proposals lists all proposals if Pages is 0. BatchKeys are as in a DetectPageInput.
	Proposals []jobtype.Proposal `json:"proposals,omitempty"`
	BatchKeys []string           `json:"batch_keys,omitempty"`
}

// MaxInvalidErrors bounds DetectActivityResult.InvalidErrors.
const MaxInvalidErrors = 10

// ExecuteInput is the argument of ExecuteActivity: one attempt of one job.
type ExecuteInput struct {
	Handler string `json:"handler"`
	// The handler's job with two differences: Params holds only the params of the job type, and the worker fills in
	// GroupID, WorkerID and Deadline.
	Job jobtype.Job `json:"job"`
	// Id of the [RunCommon] with Job.Params, Job.Settings and Job.Cluster, which travel only with the first job sent
	// to a process. If all three are empty the worker uses its copy or [QueryCommon]. Without an id every job has them.
	Common string `json:"common,omitempty"`
	// ProposalParams overlay Job.Params.
	ProposalParams json.RawMessage `json:"proposal_params,omitempty"`
	// Place of the proposal in a page of the run; nil: ProposalParams and Job have it.
	Ref *ProposalRef `json:"ref,omitempty"`
	// Timeout and the following limits are enforced by the worker.
	Timeout         jobtype.Duration `json:"timeout"`
	Liveness        jobtype.Liveness `json:"liveness,omitempty"`
	StallTimeout    jobtype.Duration `json:"stall_timeout,omitempty"`
	ProgressTimeout jobtype.Duration `json:"progress_timeout,omitempty"`
	Interactive     bool             `json:"interactive,omitempty"`
	// Time without an accepted heartbeat after which the worker stops the handler; 0: never.
	StopAfter jobtype.Duration `json:"stop_after,omitempty"`
	// How long the handler continues after the server timed out its activity, so that the run can adopt the attempt.
	OrphanGrace jobtype.Duration `json:"orphan_grace,omitempty"`
	// Adopt attaches this activity to the running attempt with this workflow, Job.ID, Job.Attempt and Job.Fence. The
	// activity then carries heartbeats, cancellation and outcome, without a slot. Without such an attempt it fails
	// with [FailureNotRunning].
	Adopt bool `json:"adopt,omitempty"`
}

// Proposed returns the input with the proposal at Ref.
func (in ExecuteInput) Proposed(p jobtype.Proposal) ExecuteInput {
	in.Ref, in.ProposalParams = nil, p.Params
	in.Job.DedupeKey, in.Job.Summary, in.Job.Detail = p.DedupeKey, p.Summary, p.Detail
	return in
}

// ServerAwayActivity takes a [ServerAwayInput]. It returns whether a silent attempt may still run.
const ServerAwayActivity = "roundsman.ServerAway"

// ServerAwayInput is the argument of ServerAwayActivity.
type ServerAwayInput struct {
	Incarnation

	// Age up to which a failure of the server counts, and a heartbeat of the worker.
	Within jobtype.Duration `json:"within"`
	Silent jobtype.Duration `json:"silent"`
}

// DefaultOrphanGrace lets a control plane that restarts with the server adopt attempts. The run offers adoption
// first, so a long grace causes no second executions.
const DefaultOrphanGrace = jobtype.Duration(time.Minute)

// ExecuteState is the end of an attempt: the activity's result on success, otherwise the detail of its failure.
type ExecuteState struct {
	// Failure is empty on success.
	Failure FailureKind `json:"failure,omitempty"`
	Message string      `json:"message,omitempty"`
	// Result of the job; on failure only its printed output, if any.
	Result     jobtype.Result  `json:"result,omitzero"`
	Checkpoint json.RawMessage `json:"checkpoint,omitempty"`
	// Done is the progress at that checkpoint in percent; 0 if not reported.
	Done       float64   `json:"done,omitempty"`
	Worker     string    `json:"worker"`
	Instance   string    `json:"instance,omitempty"`
	StartedAt  time.Time `json:"started_at,omitzero"`
	DurationMS int64     `json:"duration_ms,omitempty"`
	// Delay is the time until the next attempt after FailureDeferred and FailureGuard.
	Delay jobtype.Duration `json:"delay,omitempty"`
	// Slots used by other groups and DAG runs at the end of the attempt, in total and of the same handler. Both
	// include slots of handlers that ignore their cancellation.
	Others          int `json:"others,omitempty"`
	OthersOfHandler int `json:"others_of_handler,omitempty"`
}

// FailureKind is the cause of a failed attempt, and the type of the application error in the Web UI.
type FailureKind string

// The kinds of failure.
const (
	// FailureFailed: the handler returned an error; retried.
	FailureFailed FailureKind = "failed"
	// FailurePermanent: the handler returned a permanent error; not retried.
	FailurePermanent FailureKind = "permanent"
	// FailureStale: progress did not change for progress_timeout.
	FailureStale FailureKind = "stale"
	// FailureTimeout: the attempt exceeded its execution timeout.
	FailureTimeout FailureKind = "timeout"
	// FailureCanceled: the job was canceled and its handler has ended.
	FailureCanceled FailureKind = "canceled"
	// FailureAtCapacity: the worker had no free slot. The attempt does not count.
	FailureAtCapacity FailureKind = "at_capacity"
	// FailureDraining: the worker stops and returns the job with its checkpoint. The attempt does not count.
	FailureDraining FailureKind = "draining"
	// FailureUnsupported: the worker does not have the handler.
	FailureUnsupported FailureKind = "unsupported"
	// FailureWorkerLost: no heartbeat within heartbeat_timeout.
	FailureWorkerLost FailureKind = "worker_lost"
	// FailureNotRunning: the process does not run the attempt to adopt; the attempt is lost.
	FailureNotRunning FailureKind = "not_running"
	// FailureNotTaken: the worker did not take the job in time (ScheduleToStart).
	FailureNotTaken FailureKind = "not_taken"
	// FailureCannotStart: the worker lacks the resources to start the program. The attempt does not count.
	FailureCannotStart FailureKind = "cannot_start"
	// FailureNotInstalled: the worker lacks the program. The job fails if no worker has it.
	FailureNotInstalled FailureKind = "not_installed"
	// FailureDeferred: the handler returned a [jobtype.Deferral], with ExecuteState.Delay. The attempt does not count.
	FailureDeferred FailureKind = "deferred"
	// FailureGuard is a FailureDeferred whose condition is not met.
	FailureGuard FailureKind = "guard"
)

// Heartbeat is the detail of an execute activity's heartbeat, which the CLI reads from the pending activities.
type Heartbeat struct {
	// Percent is 0..100, or negative if unknown.
	Percent float64 `json:"percent"`
	Stage   string  `json:"stage,omitempty"`
	Message string  `json:"message,omitempty"`
	// At is the time of the handler's last report by the worker's clock.
	At         time.Time       `json:"at"`
	Checkpoint json.RawMessage `json:"checkpoint,omitempty"`
	// Done is the value of Percent at the checkpoint; 0 if unknown.
	Done   float64 `json:"done,omitempty"`
	Worker string  `json:"worker,omitempty"`
	// The stall_timeout if the handler reported nothing for that long. No more heartbeats follow.
	Stalled jobtype.Duration `json:"stalled,omitempty"`
	// Time since the last sign of life: a report, or output, CPU or I/O. It is 0 below QuietFrom.
	Quiet jobtype.Duration `json:"quiet,omitempty"`
}

// QuietFrom is the shortest silence of a job that people see.
const QuietFrom = time.Minute

// ProbeWorkerInput is the argument of ProbeWorkerActivity: does a worker that lost a job still beat?
type ProbeWorkerInput struct {
	ID       string `json:"id"`
	Instance string `json:"instance"`
}

// ProbeWorkerResult answers a probe. Alive means that the heartbeat changed within three intervals. BeatAt is by the worker's clock,
// zero if none was read. Used is the number of execute slots then.
type ProbeWorkerResult struct {
	Alive  bool      `json:"alive"`
	BeatAt time.Time `json:"beat_at,omitzero"`
	Used   int       `json:"used,omitempty"`
}

// WaitCode is the code of the wait that a deferral causes.
func (k FailureKind) WaitCode() Code {
	if k == FailureGuard {
		return CodeGuard
	}
	return CodeDeferred
}
