package contract

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// JobTypeSpec is one job type as it is stored in its Schedule: the argument of
// every group that the Schedule starts. All defaults are filled in.
type JobTypeSpec struct {
	Name string `json:"name"`
	// Handler is empty where the job type is a DAG.
	Handler string `json:"handler,omitempty"`
	// DAG is what each job of the type runs, with the params of the job; nil: a
	// handler executes the jobs.
	DAG *DAGSource `json:"dag,omitempty"`
	// Owner is the configuration that the job type comes from, where several share a
	// namespace.
	Owner string `json:"owner,omitempty"`
	// Description is for people; the Web UI shows it with every group.
	Description string `json:"description,omitempty"`
	// DetectOn is where a detection runs: empty is on one worker. EachWorker: each worker
	// has one job, and nothing is detected. Labels restrict both to the workers that have
	// them.
	DetectOn   DetectOn          `json:"detect_on,omitempty"`
	EachWorker bool              `json:"each_worker,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	Lane       string            `json:"lane,omitempty"`
	// LaneShared: the groups of the lane may run side by side.
	LaneShared bool `json:"lane_shared,omitempty"`
	// Interval is how long a group waits for its lane: until it is due again.
	Interval jobtype.Duration `json:"interval,omitempty"`
	// Resources are the declared sizes of pools.
	Resources map[string]int `json:"resources,omitempty"`
	// JobResources are what each job takes from pools at least.
	JobResources map[string]int `json:"job_resources,omitempty"`
	Policy       jobtype.Policy `json:"policy"`
	// Batch makes one job of several proposals; nil: each is a job of its own.
	Batch *BatchSpec `json:"batch,omitempty"`
	// Calendar says when groups and jobs may start, LaneCalendar what their lane
	// adds to that: both must be open. nil: all the time.
	Calendar     *jobtype.Calendar `json:"calendar,omitempty"`
	LaneCalendar *jobtype.Calendar `json:"lane_calendar,omitempty"`
	// RetryBudget is nil if nothing bounds how much may fail.
	RetryBudget *RetryBudget `json:"retry_budget,omitempty"`
	// Notify says who is told of its runs, besides those that the control plane tells.
	Notify []NotifyRule `json:"notify,omitempty"`
	// Params, Detect and Execute are the blocks of the configuration.
	Params  json.RawMessage `json:"params,omitempty"`
	Detect  json.RawMessage `json:"detect,omitempty"`
	Execute json.RawMessage `json:"execute,omitempty"`
	// Cluster is the configuration's `cluster:` block.
	Cluster json.RawMessage `json:"cluster,omitempty"`
	// Schedule is the schedule as it was written, for people and for `plan`.
	Schedule ScheduleSpec `json:"schedule"`
	// Hash identifies everything above. `apply` compares it.
	Hash string `json:"hash,omitempty"`
}

// DetectOn says where detections run.
type DetectOn string

// Where detections run. On every worker what it finds is done there.
const (
	DetectOnOne   DetectOn = "one"
	DetectOnEvery DetectOn = "every"
)

// MissedWorker is a worker that a group for every worker does not reach.
type MissedWorker struct {
	Worker string `json:"worker"`
	Code   Code   `json:"code"`
	Detail string `json:"detail"`
	// Attempts of a detection there.
	Attempts int `json:"attempts,omitempty"`
}

// String names what executes the jobs of the type.
func (s JobTypeSpec) String() string {
	if s.DAG != nil {
		return "dag " + s.DAG.File
	}
	return s.Handler
}

// ScheduleSpec says when a job type is due.
type ScheduleSpec struct {
	Every    jobtype.Duration `json:"every,omitempty"`
	Offset   jobtype.Duration `json:"offset,omitempty"`
	Cron     []string         `json:"cron,omitempty"`
	Timezone string           `json:"timezone,omitempty"`
	Jitter   jobtype.Duration `json:"jitter,omitempty"`
}

// SpreadOffset is the offset of a job type whose configuration names none: a time
// below the interval, in whole seconds, that depends on the name alone. A zero
// interval has none.
func SpreadOffset(name string, every jobtype.Duration) jobtype.Duration {
	seconds := uint64(every.Std() / time.Second)
	if seconds == 0 {
		return 0
	}
	sum := sha256.Sum256([]byte(name))
	return jobtype.Duration(time.Duration(binary.BigEndian.Uint64(sum[:])%seconds) * time.Second)
}

// BatchSpec says which proposals share a job.
type BatchSpec struct {
	// By is a template over a proposal. Those for which it renders to the same
	// text share a job; those for which it renders to nothing stand alone.
	By string `json:"by"`
	// MaxSize is how many share one job, at most [jobtype.MaxBatchSize].
	MaxSize int `json:"max_size"`
}

// JobGroupInput starts a job group.
type JobGroupInput struct {
	Spec JobTypeSpec `json:"spec"`
	// DryRun detects and reports without executing anything.
	DryRun bool `json:"dry_run,omitempty"`
	// Submission makes it an ad-hoc group: what it brings is done, and nothing is
	// detected.
	Submission *Submission `json:"submission,omitempty"`
	// RollEvents is the length of history from which on the group continues as
	// new at the next moment when nothing runs; 0: 20,000. Small values are for
	// tests.
	RollEvents int `json:"roll_events,omitempty"`
	// IgnoreWindow is the workflow id of the one group that runs although its
	// window is closed. It is an id, because the argument of a Schedule is that of
	// all its groups.
	IgnoreWindow string `json:"ignore_window,omitempty"`
	// State is set when the group continues as new, and only then.
	State *JobGroupState `json:"state,omitempty"`
}

// JobGroupState is what a group carries across continue-as-new.
type JobGroupState struct {
	// Core is the snapshot of the dispatch core, compressed.
	Core []byte `json:"core"`
	// Record is the run history this group will extend.
	Record RunRecord `json:"record"`
	// Workers is the last view of the fleet, WorkersSeq its number.
	Workers    []WorkerView `json:"workers,omitempty"`
	WorkersSeq int64        `json:"workers_seq,omitempty"`
	// Pages have the parts of the core that do not fit into its argument.
	Pages []StatePage `json:"pages,omitempty"`
	// Runs counts the workflow runs of this group so far.
	Runs int `json:"runs"`
	// Turns is how often the group has left to come back with its next window.
	Turns int `json:"turns,omitempty"`
	// Admission is what the group holds and waits for; nil: nothing.
	Admission *AdmissionLinkState `json:"admission,omitempty"`
	// Audit is what the group has not told the audit log yet; nil: nothing.
	Audit *AuditTrailState `json:"audit,omitempty"`
}

// Outcome is how a group ended.
type Outcome string

// The outcomes of a group.
const (
	// OutcomeCompleted: everything that was found was done, or nothing was.
	OutcomeCompleted Outcome = "completed"
	// OutcomePartial: some jobs completed, some did not.
	OutcomePartial Outcome = "partial"
	// OutcomeFailed: the detection failed, or no job completed.
	OutcomeFailed Outcome = "failed"
	// OutcomeTimeout: max_runtime was over, or the window closed, before everything
	// was done; after a window in which some jobs completed it is OutcomePartial.
	OutcomeTimeout Outcome = "timeout"
	// OutcomeCanceled: an operator canceled the group.
	OutcomeCanceled Outcome = "canceled"
	// OutcomeSkipped: the group did not take its turn; the reason says why.
	OutcomeSkipped Outcome = "skipped"
)

// GroupCounts are exact, whatever was killed in between. After the group has
// ended, Accepted = Completed + Failed + Canceled + Stale + Expired + NotStarted.
type GroupCounts struct {
	// Detected counts all proposals that the detection emitted:
	// Accepted + Batched + Duplicates + AlreadyActive + Disabled + Surplus + Invalid.
	Detected int `json:"detected"`
	// DetectedMore: the detector stopped when the group was full; more was found than
	// Detected counts.
	DetectedMore bool `json:"detected_more,omitempty"`
	// Accepted counts jobs.
	Accepted int `json:"accepted"`
	// Batched counts proposals that joined the job of another one.
	Batched    int `json:"batched"`
	Duplicates int `json:"duplicates"`
	// AlreadyActive counts proposals whose key another job holds.
	AlreadyActive int `json:"already_active"`
	// Disabled counts proposals whose key is held back: by the retry budget, or
	// because it was marked as done.
	Disabled int `json:"disabled"`
	// HeldBack counts those of Disabled that the retry budget holds back: their jobs
	// failed too often. A group that leaves some out is not completed.
	HeldBack int `json:"held_back,omitempty"`
	// Surplus counts proposals over a limit.
	Surplus int `json:"surplus"`
	// Invalid counts proposals that broke a rule.
	Invalid   int `json:"invalid"`
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
	Canceled  int `json:"canceled"`
	Stale     int `json:"stale"`
	// Expired counts jobs whose expires_at passed before they started.
	Expired int `json:"expired"`
	// NotStarted counts jobs that max_runtime kept from starting.
	NotStarted int `json:"not_started"`
	// Workers counts those that a group for every worker is for, MissedWorkers those of
	// them that it did not reach.
	Workers       int `json:"workers,omitempty"`
	MissedWorkers int `json:"missed_workers,omitempty"`
	// Retries counts attempts after a failure, Replacements attempts after a
	// lost or full worker.
	Retries      int `json:"retries"`
	Replacements int `json:"replacements"`
}

// JobError is one failed job, or one failed task of a DAG.
type JobError struct {
	DedupeKey string `json:"dedupe_key"`
	Message   string `json:"message"`
	JobID     string `json:"job_id,omitempty"`
	Worker    string `json:"worker,omitempty"`
	// Attempts of a task; 0 is unknown.
	Attempts int `json:"attempts,omitempty"`
	// Items is how many proposals the job stands for, if several; DedupeKey is
	// the first one's.
	Items int `json:"items,omitempty"`
}

// MaxJobErrors bounds the errors that a result lists; Counts stay exact.
const MaxJobErrors = 50

// JobGroupResult is the result of a group's workflow.
type JobGroupResult struct {
	JobType string  `json:"job_type"`
	Outcome Outcome `json:"outcome"`
	// Reason explains an outcome that the counts do not; Code is its kind, if it has
	// one.
	Code       Code        `json:"code,omitempty"`
	Reason     string      `json:"reason,omitempty"`
	DryRun     bool        `json:"dry_run,omitempty"`
	Counts     GroupCounts `json:"counts"`
	StartedAt  time.Time   `json:"started_at"`
	EndedAt    time.Time   `json:"ended_at"`
	DurationMS int64       `json:"duration_ms"`
	Detector   string      `json:"detector,omitempty"`
	// Phases are those that the group was in, oldest first; the last one is ended.
	Phases []GroupPhase `json:"phases,omitempty"`
	// Submission is the id of an ad-hoc group's submission, SubmittedBy who made
	// it. Such a group leaves no Record.
	Submission  string `json:"submission,omitempty"`
	SubmittedBy string `json:"submitted_by,omitempty"`
	// Deduped are the first proposals that other groups were at already.
	Deduped []DedupedProposal `json:"deduped,omitempty"`
	// Errors holds the first MaxJobErrors failed jobs.
	Errors []JobError `json:"errors,omitempty"`
	// HeldBack are the first proposals that were left out because their keys are
	// held back.
	HeldBack []AdmissionHold `json:"held_back,omitempty"`
	// Missed are the first workers that a group for every worker did not reach.
	Missed []MissedWorker `json:"missed,omitempty"`
	// Proposals lists what a dry run found, at most MaxDryRunProposals.
	Proposals []jobtype.Proposal `json:"proposals,omitempty"`
	// ByWorker counts completed jobs per worker.
	ByWorker map[string]int `json:"by_worker,omitempty"`
	// IgnoredWindow: somebody asked the group to run whatever its windows say.
	IgnoredWindow bool `json:"ignored_window,omitempty"`
	// Dropped are checkpoints that nobody continues with: the record has no room for
	// them, or it was an ad-hoc group.
	Dropped *DroppedCheckpoints `json:"dropped_checkpoints,omitempty"`
	// Record is carried to the next run of the job type.
	Record RunRecord `json:"record"`
}

// MaxDryRunProposals bounds what a dry run returns.
const MaxDryRunProposals = 200

// RunRecord is the memory of a job type: the last runs, good and bad. It
// travels from run to run in the result, which a failed run has as the detail of its
// failure; at most 64 KiB.
type RunRecord struct {
	// Sequence counts the groups of the job type.
	Sequence int64 `json:"sequence"`
	// LastSuccess is when a group last ended completed.
	LastSuccess time.Time `json:"last_success,omitzero"`
	// LastDetector is the worker that detected last; detection sticks to it.
	LastDetector string `json:"last_detector,omitempty"`
	// AvoidDetector is the worker on which the last detection failed, until one
	// succeeds: what is wrong may be wrong with that node alone, a full disk for
	// instance, so the next group asks another one.
	AvoidDetector string `json:"avoid_detector,omitempty"`
	// Good and Bad hold the last MaxRunRecords runs each, newest first.
	Good []RunSummary `json:"good,omitempty"`
	Bad  []RunSummary `json:"bad,omitempty"`
	// ClosedUntil is the opening until which the last runs were skipped.
	ClosedUntil time.Time `json:"closed_until,omitzero"`
	// TookMS is how long the last completed attempts took, oldest first, at most
	// 100; those that continued from a checkpoint are left out.
	TookMS []int64 `json:"took_ms,omitempty"`
	// Checkpoints are those of jobs that the end of a window stopped, oldest
	// first, at most 50 with 32 KiB together.
	Checkpoints []KeptCheckpoint `json:"checkpoints,omitempty"`
	// Ticks are the dropped ones that the audit log was told of; nil: none was yet.
	Ticks *TickCounts `json:"ticks,omitempty"`
}

// TickCounts counts ticks of a Schedule that the server dropped since it was made.
type TickCounts struct {
	// Skipped: the group before still ran, and policy.overlap says skip. Missed:
	// the server was away for longer than the catch-up window.
	Skipped int `json:"skipped"`
	Missed  int `json:"missed"`
}

// MaxRunRecords is how many good and how many bad runs are remembered.
const MaxRunRecords = 10

// RunSummary is one past run of a job type.
type RunSummary struct {
	WorkflowID string      `json:"workflow_id"`
	RunID      string      `json:"run_id"`
	Outcome    Outcome     `json:"outcome"`
	Reason     string      `json:"reason,omitempty"`
	StartedAt  time.Time   `json:"started_at,omitzero"`
	EndedAt    time.Time   `json:"ended_at,omitzero"`
	Counts     GroupCounts `json:"counts"`
	// Terminated is set if somebody terminated it.
	Terminated *Termination `json:"terminated,omitempty"`
}

// Termination says who terminated a run, and why.
type Termination struct {
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"`
}
