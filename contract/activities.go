package contract

import (
	"encoding/json"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// PrepareInput asks the control plane for what a group must know before it
// detects.
type PrepareInput struct {
	JobType string `json:"job_type"`
	Handler string `json:"handler"`
	// WorkflowID and RunID are the asking group's own.
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	// Record is what the last completed run left.
	Record RunRecord `json:"record"`
	// Scheduled is false for a group that no Schedule started.
	Scheduled bool `json:"scheduled"`
}

// PrepareResult is the answer to PrepareInput.
type PrepareResult struct {
	// Record is the newest one that a failed or canceled run has left, if it is newer
	// than PrepareInput.Record; nil: that holds.
	Record *RunRecord `json:"record,omitempty"`
	// Missed are later runs that left no record: they were terminated, timed out or
	// met a bug.
	Missed []RunSummary `json:"missed,omitempty"`
	// Ticks are those that the server dropped so far; nil: nobody knows.
	Ticks *TickCounts `json:"ticks,omitempty"`
	// Workers are those able to serve the job type, WorkersSeq the number of
	// that view.
	Workers    []WorkerView `json:"workers,omitempty"`
	WorkersSeq int64        `json:"workers_seq,omitempty"`
	// Incomplete: see [FleetView].
	Incomplete bool `json:"incomplete,omitempty"`
}

// DetectActivityInput is the argument of DetectActivity.
type DetectActivityInput struct {
	Handler string              `json:"handler"`
	Input   jobtype.DetectInput `json:"input"`
	// BatchBy is the template of [BatchSpec]; empty: there are no batches.
	BatchBy string `json:"batch_by,omitempty"`
	// Liveness and StallTimeout are the policy's; only liveness activity watches a
	// detection.
	Liveness     jobtype.Liveness `json:"liveness,omitempty"`
	StallTimeout jobtype.Duration `json:"stall_timeout,omitempty"`
	// WorkflowID and RunID name the group that takes the pages; Attempt is
	// this detection's number.
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	Attempt    int    `json:"attempt"`
	// Inline: proposals that fit into one page of MaxInlineBytes may travel in the
	// result.
	Inline bool `json:"inline,omitempty"`
}

// MaxInlineBytes bounds the proposals that a detection returns with its result: a
// thousand such results fit into a history.
const MaxInlineBytes = 32 << 10

// DetectActivityResult closes a detection. The proposals themselves went by
// [UpdateDetectPage]; Pages is how many there were, so that the group knows
// that it has seen all.
type DetectActivityResult struct {
	Worker string `json:"worker"`
	Pages  int    `json:"pages"`
	// Emitted counts all proposals that the handler emitted, Surplus those that
	// never travelled because the group was full, Duplicates those that did not because
	// their key was emitted before, Invalid those that broke a rule; InvalidErrors says
	// which, at most MaxInvalidErrors.
	Emitted int `json:"emitted"`
	// More: the handler stopped when the group was full, there are more than Emitted.
	More          bool     `json:"more,omitempty"`
	Duplicates    int      `json:"duplicates,omitempty"`
	Surplus       int      `json:"surplus,omitempty"`
	Invalid       int      `json:"invalid,omitempty"`
	InvalidErrors []string `json:"invalid_errors,omitempty"`
	// Proposals are all, where Pages is 0; BatchKeys are as in a DetectPageInput.
	Proposals []jobtype.Proposal `json:"proposals,omitempty"`
	BatchKeys []string           `json:"batch_keys,omitempty"`
}

// MaxInvalidErrors bounds DetectActivityResult.InvalidErrors.
const MaxInvalidErrors = 10

// ExecuteInput is the argument of ExecuteActivity: one attempt of one job.
type ExecuteInput struct {
	Handler string `json:"handler"`
	// Job is what the handler sees, but for Params (still the job type's alone), and for
	// GroupID, WorkerID and Deadline, which the worker fills in: the activity's
	// workflow is the group.
	Job jobtype.Job `json:"job"`
	// Common is the id of the [RunCommon] whose parts are Job.Params, Job.Settings and
	// Job.Cluster; empty: they travel with every job. With an id they travel with the
	// first job that a process is given. Where all three are empty the worker has kept
	// them, or asks the run by [QueryCommon].
	Common string `json:"common,omitempty"`
	// ProposalParams overlay Job.Params.
	ProposalParams json.RawMessage `json:"proposal_params,omitempty"`
	// Limits the worker enforces.
	Timeout         jobtype.Duration `json:"timeout"`
	Liveness        jobtype.Liveness `json:"liveness,omitempty"`
	StallTimeout    jobtype.Duration `json:"stall_timeout,omitempty"`
	ProgressTimeout jobtype.Duration `json:"progress_timeout,omitempty"`
	Interactive     bool             `json:"interactive,omitempty"`
	// StopAfter is how long no beat may reach the server before the worker ends the
	// handler; 0: it continues. See [jobtype.Policy.StopAfter].
	StopAfter jobtype.Duration `json:"stop_after,omitempty"`
	// OrphanGrace is how long the handler continues after the server has timed the
	// activity out by heartbeat because it was away or cut off, so that the run can
	// adopt it; 0: the handler ends at once. See [DefaultOrphanGrace].
	OrphanGrace jobtype.Duration `json:"orphan_grace,omitempty"`
	// Adopt attaches this activity to the attempt that still runs in the process
	// whose queue it is sent to: the one of this workflow with this Job.ID, Job.Attempt
	// and Job.Fence, all else may be empty. The activity then stands for the
	// attempt: its heartbeats, its cancellation and its outcome. It takes no slot.
	// Where no such attempt runs it fails with [FailureNotRunning].
	Adopt bool `json:"adopt,omitempty"`
}

// DefaultOrphanGrace leaves a control plane that was restarted together with the
// server time to adopt. The run offers adoption before it places the job elsewhere,
// so that a long grace makes no second execution likelier.
const DefaultOrphanGrace = jobtype.Duration(time.Minute)

// ExecuteState is how an attempt ended, as its worker tells it: the activity's
// result when all is well, the detail of its failure otherwise.
type ExecuteState struct {
	// Failure is empty for a success.
	Failure FailureKind `json:"failure,omitempty"`
	Message string      `json:"message,omitempty"`
	// Result of a success; of a failure what was printed, if anything.
	Result jobtype.Result `json:"result,omitzero"`
	// Checkpoint is the attempt's last one, for the next attempt.
	Checkpoint json.RawMessage `json:"checkpoint,omitempty"`
	// Done is how much of the job, in percent, was done when it made that
	// checkpoint; 0: it did not say.
	Done       float64   `json:"done,omitempty"`
	Worker     string    `json:"worker"`
	Instance   string    `json:"instance,omitempty"`
	StartedAt  time.Time `json:"started_at,omitzero"`
	DurationMS int64     `json:"duration_ms,omitempty"`
	// Others is how many of the worker's slots other groups and runs of DAGs used
	// when the attempt ended, OthersOfHandler how many of these the same handler.
	// Slots of a handler that ignores its cancellation are part of both,
	// whoever it worked for.
	Others          int `json:"others,omitempty"`
	OthersOfHandler int `json:"others_of_handler,omitempty"`
}

// FailureKind says why an attempt failed. It is also the type of the
// application error, so that it is readable in the Web UI.
type FailureKind string

// The kinds of failure.
const (
	// FailureFailed: the handler returned an error; retried.
	FailureFailed FailureKind = "failed"
	// FailurePermanent: the handler said that a retry is useless.
	FailurePermanent FailureKind = "permanent"
	// FailureStale: no change of progress for progress_timeout.
	FailureStale FailureKind = "stale"
	// FailureTimeout: over the execution timeout.
	FailureTimeout FailureKind = "timeout"
	// FailureCanceled: the job was canceled and its handler has ended.
	FailureCanceled FailureKind = "canceled"
	// FailureAtCapacity: the worker had no slot; placed elsewhere, not counted.
	FailureAtCapacity FailureKind = "at_capacity"
	// FailureDraining: the worker stops and hands the job back with its
	// checkpoint; placed elsewhere, not counted.
	FailureDraining FailureKind = "draining"
	// FailureUnsupported: the worker does not have the handler.
	FailureUnsupported FailureKind = "unsupported"
	// FailureWorkerLost: no heartbeat within heartbeat_timeout.
	FailureWorkerLost FailureKind = "worker_lost"
	// FailureNotRunning: the worker's process does not run the attempt that was to
	// be adopted; the attempt is lost.
	FailureNotRunning FailureKind = "not_running"
	// FailureNotTaken: the worker did not take the job in time
	// (ScheduleToStart).
	FailureNotTaken FailureKind = "not_taken"
)

// Heartbeat is the detail of an execute activity's heartbeat. Workflows cannot
// see it while the activity runs; the CLI reads it from the pending activities.
type Heartbeat struct {
	// Percent is 0..100, or negative if unknown.
	Percent float64 `json:"percent"`
	Stage   string  `json:"stage,omitempty"`
	Message string  `json:"message,omitempty"`
	// At is when the handler last reported, by the worker's clock.
	At         time.Time       `json:"at"`
	Checkpoint json.RawMessage `json:"checkpoint,omitempty"`
	// Done is what Percent was when the checkpoint was made; 0: unknown.
	Done   float64 `json:"done,omitempty"`
	Worker string  `json:"worker,omitempty"`
	// Stalled is the stall_timeout if the handler reported nothing for so long: it
	// is the last beat, unless the handler reports again.
	Stalled jobtype.Duration `json:"stalled,omitempty"`
}

// ProbeWorkerInput asks whether a worker that lost a job still beats.
type ProbeWorkerInput struct {
	ID       string `json:"id"`
	Instance string `json:"instance"`
}

// ProbeWorkerResult is the answer: Alive if a heartbeat was seen to change
// within three intervals. BeatAt is the time of its last heartbeat, by the worker's
// clock, and Used how many execute slots were in use then; BeatAt is zero if none
// was read.
type ProbeWorkerResult struct {
	Alive  bool      `json:"alive"`
	BeatAt time.Time `json:"beat_at,omitzero"`
	Used   int       `json:"used,omitempty"`
}
