package contract

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"slices"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// JobTypeSpec is one job type as stored in its Schedule, with all defaults filled in.
type JobTypeSpec struct {
	Name string `json:"name"`
	// Handler is empty if the job type is a DAG.
	Handler string `json:"handler,omitempty"`
	// DAG is run for each job, with the job's params; nil if a handler executes the jobs.
	DAG *DAGSource `json:"dag,omitempty"`
	// Owner is the configuration of the job type, if several configurations share a namespace.
	Owner string `json:"owner,omitempty"`
	// Description is for operators; the Web UI shows it with every group.
	Description string `json:"description,omitempty"`
	// DetectOn: empty means one worker. EachWorker gives each worker one job and detects nothing. Labels restrict both.
	DetectOn   DetectOn          `json:"detect_on,omitempty"`
	EachWorker bool              `json:"each_worker,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	Lane       string            `json:"lane,omitempty"`
	// LaneShared allows groups of the lane to run concurrently.
	LaneShared bool `json:"lane_shared,omitempty"`
	// ApprovalsKeepLane keeps the lane while the DAG waits for approvals.
	ApprovalsKeepLane bool `json:"approvals_keep_lane,omitempty"`
	// Interval is the maximum wait for the lane: until the next tick.
	Interval jobtype.Duration `json:"interval,omitempty"`
	// Resources are the declared sizes of pools.
	Resources map[string]int `json:"resources,omitempty"`
	// JobResources are the minimum amounts that each job takes from pools.
	JobResources map[string]int `json:"job_resources,omitempty"`
	Policy       jobtype.Policy `json:"policy"`
	// Batch combines proposals into one job; nil gives each proposal its own job.
	Batch *BatchSpec `json:"batch,omitempty"`
	// Calendars of groups and jobs, and of the lane. Both must be open; nil is always open.
	Calendar     *jobtype.Calendar `json:"calendar,omitempty"`
	LaneCalendar *jobtype.Calendar `json:"lane_calendar,omitempty"`
	// Job types that must have succeeded before a run begins, and the job types that await this one.
	After     map[string]AfterRule `json:"after,omitempty"`
	AwaitedBy []string             `json:"awaited_by,omitempty"`
	// RunIfNotSucceededFor skips a tick if the last completed run is younger; 0 never does.
	RunIfNotSucceededFor jobtype.Duration `json:"run_if_not_succeeded_for,omitempty"`
	// RetryBudget limits failures; nil means no limit.
	RetryBudget *RetryBudget `json:"retry_budget,omitempty"`
	// Notify holds the notification rules of the job type, besides those of the control plane.
	Notify  []NotifyRule    `json:"notify,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Detect  json.RawMessage `json:"detect,omitempty"`
	Execute json.RawMessage `json:"execute,omitempty"`
	Cluster json.RawMessage `json:"cluster,omitempty"`
	// Schedule is the schedule as written, for operators and `plan`.
	Schedule ScheduleSpec `json:"schedule"`
	// Settings that are defaults of the handler: [PathEvery] and policy.SETTING.
	FromHandler []string `json:"from_handler,omitempty"`
	// Hash identifies all fields above. `apply` compares it.
	Hash string `json:"hash,omitempty"`
}

// DetectOn selects where detections run.
type DetectOn string

// Values of DetectOn. With DetectOnEvery the jobs of a detection run on its worker.
const (
	DetectOnOne   DetectOn = "one"
	DetectOnEvery DetectOn = "every"
)

// MissedWorker is a target worker that a group for every worker did not reach.
type MissedWorker struct {
	Worker string `json:"worker"`
	Code   Code   `json:"code"`
	Detail string `json:"detail"`
	// Attempts counts the detections tried there.
	Attempts int `json:"attempts,omitempty"`
}

// String returns the executor of the type's jobs: its DAG or handler.
func (s JobTypeSpec) String() string {
	if s.DAG != nil {
		return "dag " + s.DAG.File
	}
	return s.Handler
}

// PathEvery is the path of a job type's interval.
const PathEvery = "schedule.every"

// ScheduleSpec is the times at which a job type is due.
type ScheduleSpec struct {
	Every  jobtype.Duration `json:"every,omitempty"`
	Offset jobtype.Duration `json:"offset,omitempty"`
	Cron   []string         `json:"cron,omitempty"`
	// Days restrict the days of Cron, as those of a window. Except are days without a tick.
	Days     []string         `json:"days,omitempty"`
	Except   []string         `json:"except,omitempty"`
	Timezone string           `json:"timezone,omitempty"`
	Jitter   jobtype.Duration `json:"jitter,omitempty"`
	// FirstRun is the start of the first run of a new job type; empty means FirstRunScheduled.
	FirstRun FirstRun `json:"first_run,omitempty"`
}

// FirstRun is the start of the first run after a job type was created.
type FirstRun string

// Values of FirstRun. FirstRunNow starts a run when the Schedule is made, unless it is made paused.
const (
	FirstRunNow       FirstRun = "now"
	FirstRunScheduled FirstRun = "scheduled"
)

// SpreadOffset returns the default offset: whole seconds below the interval, derived from the name alone.
func SpreadOffset(name string, every jobtype.Duration) jobtype.Duration {
	seconds := uint64(every.Std() / time.Second)
	if seconds == 0 {
		return 0
	}
	sum := sha256.Sum256([]byte(name))
	return jobtype.Duration(time.Duration(binary.BigEndian.Uint64(sum[:])%seconds) * time.Second)
}

// BatchSpec selects the proposals that share a job.
type BatchSpec struct {
	// Template over a proposal. Proposals with the same text share a job; an empty text means a job of its own.
	By string `json:"by"`
	// MaxSize is the maximum number of proposals per job, at most [jobtype.MaxBatchSize].
	MaxSize int `json:"max_size"`
}

// JobGroupInput starts a job group.
type JobGroupInput struct {
	Spec JobTypeSpec `json:"spec"`
	// DryRun detects and reports without executing jobs.
	DryRun bool `json:"dry_run,omitempty"`
	// Submission makes an ad-hoc group: its proposals are executed and nothing is detected.
	Submission *Submission `json:"submission,omitempty"`
	// OwnParams: the run detects with params of its own. It is not in the chain of the Schedule's runs.
	OwnParams bool `json:"own_params,omitempty"`
	// History length from which the group continues as new. Default 20,000; tests use small values.
	RollEvents int `json:"roll_events,omitempty"`
	// Number of open jobs of proposal pages. Default 20,000; tests use small values.
	OpenJobs int `json:"open_jobs,omitempty"`
	// The one group that runs in a closed window. All groups of a Schedule share one argument, hence an id.
	IgnoreWindow string `json:"ignore_window,omitempty"`
	// State is set when the group continues as new, or its submission has pages, see [FirstState].
	State *JobGroupState `json:"state,omitempty"`
}

// JobGroupState is the state that continue-as-new carries over.
type JobGroupState struct {
	// Core is the compressed snapshot of the dispatch core.
	Core []byte `json:"core"`
	// Record is the run record that this group will extend.
	Record RunRecord `json:"record"`
	// Workers is the last view of the fleet, WorkersSeq its number.
	Workers    []WorkerView `json:"workers,omitempty"`
	WorkersSeq int64        `json:"workers_seq,omitempty"`
	StatePages
	// Runs counts the workflow runs of this group so far.
	Runs int `json:"runs"`
	// Turns counts how often the group was suspended until its next window.
	Turns     int                 `json:"turns,omitempty"`
	Admission *AdmissionLinkState `json:"admission,omitempty"`
	Audit     *AuditTrailState    `json:"audit,omitempty"`
}

// Outcome is how a group ended.
type Outcome string

// The outcomes of a group.
const (
	// OutcomeCompleted: all detected work was done, or there was none.
	OutcomeCompleted Outcome = "completed"
	// OutcomePartial: only some jobs completed.
	OutcomePartial Outcome = "partial"
	// OutcomeFailed: the detection failed, or no job completed.
	OutcomeFailed Outcome = "failed"
	// OutcomeTimeout: max_runtime expired or the window closed before all work was done.
	OutcomeTimeout Outcome = "timeout"
	// OutcomeCanceled: an operator canceled the group.
	OutcomeCanceled Outcome = "canceled"
	// OutcomeSkipped: the group did not take its turn; the reason explains it.
	OutcomeSkipped Outcome = "skipped"
)

// Failed reports whether work was left undone.
func (o Outcome) Failed() bool {
	return o == OutcomeFailed || o == OutcomeTimeout || o == OutcomePartial
}

// Outcomes returns all outcomes.
func Outcomes() []Outcome {
	return []Outcome{OutcomeCompleted, OutcomePartial, OutcomeFailed, OutcomeTimeout, OutcomeCanceled, OutcomeSkipped}
}

// GroupCounts counts jobs. After the group's end, Accepted = Completed + Warning + Failed + Canceled + Stale + Expired + NotStarted.
type GroupCounts struct {
	// All proposals: Accepted + Batched + Duplicates + AlreadyActive + Disabled + Surplus + Invalid.
	Detected int `json:"detected"`
	// DetectedMore means that the detection stopped at a full group, so more than Detected exist.
	DetectedMore bool `json:"detected_more,omitempty"`
	// Accepted counts jobs.
	Accepted int `json:"accepted"`
	// Batched counts proposals added to another proposal's job.
	Batched    int `json:"batched"`
	Duplicates int `json:"duplicates"`
	// AlreadyActive counts proposals whose key another job holds.
	AlreadyActive int `json:"already_active"`
	// Disabled counts proposals with a key held back by the retry budget or marked as done.
	Disabled int `json:"disabled"`
	// Those of Disabled after too many failures. A group with such proposals is not completed.
	HeldBack int `json:"held_back,omitempty"`
	// Surplus counts proposals over a limit.
	Surplus int `json:"surplus"`
	// Invalid counts proposals that broke a rule.
	Invalid   int `json:"invalid"`
	Completed int `json:"completed"`
	// Warning counts jobs that were done and whose handler warns of something.
	Warning  int `json:"warning"`
	Failed   int `json:"failed"`
	Canceled int `json:"canceled"`
	Stale    int `json:"stale"`
	// Expired counts jobs whose expires_at passed before they started.
	Expired int `json:"expired"`
	// NotStarted counts jobs not started before the end of max_runtime.
	NotStarted int `json:"not_started"`
	// Targets of a group for every worker, and targets not reached.
	Workers       int `json:"workers,omitempty"`
	MissedWorkers int `json:"missed_workers,omitempty"`
	// Retries counts attempts after a failure, Replacements attempts after a lost or full worker.
	Retries      int `json:"retries"`
	Replacements int `json:"replacements"`
}

// JobError is one failed job, or one failed task of a DAG.
type JobError struct {
	DedupeKey string `json:"dedupe_key"`
	Message   string `json:"message"`
	JobID     string `json:"job_id,omitempty"`
	Worker    string `json:"worker,omitempty"`
	// Attempts of a task; 0 if unknown.
	Attempts int `json:"attempts,omitempty"`
	// Items is the number of proposals in a batched job; DedupeKey is the first one's.
	Items int `json:"items,omitempty"`
}

// MaxJobErrors bounds the errors listed in a result. Counts stay exact.
const MaxJobErrors = 50

// JobGroupResult is the result of a group's workflow.
type JobGroupResult struct {
	JobType string  `json:"job_type"`
	Outcome Outcome `json:"outcome"`
	// Reason explains an outcome that the counts do not. Code is its kind, if any.
	Code       Code        `json:"code,omitempty"`
	Reason     string      `json:"reason,omitempty"`
	DryRun     bool        `json:"dry_run,omitempty"`
	Counts     GroupCounts `json:"counts"`
	StartedAt  time.Time   `json:"started_at"`
	EndedAt    time.Time   `json:"ended_at"`
	DurationMS int64       `json:"duration_ms"`
	Detector   string      `json:"detector,omitempty"`
	// Explanations are the detector's lines about the detection, for example why there is nothing to do.
	Explanations []string `json:"explanations,omitempty"`
	// Phases lists the phases of the group, oldest first; the last one is ended.
	Phases []GroupPhase `json:"phases,omitempty"`
	// Id of an ad-hoc group's submission, and its author. Such a group leaves no Record.
	Submission  string `json:"submission,omitempty"`
	SubmittedBy string `json:"submitted_by,omitempty"`
	// Deduped lists the first proposals whose keys other groups held.
	Deduped []DedupedProposal `json:"deduped,omitempty"`
	// Errors lists the first MaxJobErrors failed jobs.
	Errors []JobError `json:"errors,omitempty"`
	// HeldBack lists the first proposals with keys that are held back.
	HeldBack []AdmissionHold `json:"held_back,omitempty"`
	// Missed lists the first workers that a group for every worker did not reach.
	Missed []MissedWorker `json:"missed,omitempty"`
	// Proposals lists the proposals of a dry run, at most MaxDryRunProposals.
	Proposals []jobtype.Proposal `json:"proposals,omitempty"`
	// ByWorker counts completed jobs per worker.
	ByWorker map[string]int `json:"by_worker,omitempty"`
	// IgnoredWindow means that an operator started the group in spite of its windows.
	IgnoredWindow bool `json:"ignored_window,omitempty"`
	// Checkpoints without a successor: the record has no room, or the group was ad-hoc.
	Dropped *DroppedCheckpoints `json:"dropped_checkpoints,omitempty"`
	// Record is passed to the next run of the job type.
	Record RunRecord   `json:"record"`
	Items  *ItemRecord `json:"items,omitempty"`
}

// OnlyMissed lists the first workers not reached, if only their absence kept the group from being completed.
func (r JobGroupResult) OnlyMissed() []string {
	c := r.Counts
	if c.Failed+c.Canceled+c.Stale+c.Expired+c.NotStarted+c.Invalid+c.HeldBack > 0 {
		return nil
	}
	absent := []Code{CodeNoWorker, CodeUnreachable, CodeCordoned, CodeDraining, CodeWorkerLost}
	var workers []string
	for _, missed := range r.Missed {
		if !slices.Contains(absent, missed.Code) {
			return nil
		}
		workers = append(workers, missed.Worker)
	}
	return workers
}

// MaxDryRunProposals bounds the proposals of a dry run's result.
const MaxDryRunProposals = 200

// RunRecord is the memory of a job type, at most 64 KiB. It travels from run to run in the result.
type RunRecord struct {
	// Sequence counts the groups of the job type.
	Sequence int64 `json:"sequence"`
	// LastSuccess is the end of the last completed group.
	LastSuccess time.Time `json:"last_success,omitzero"`
	// LastWithJobs is the due time of the last completed group that had jobs.
	LastWithJobs time.Time `json:"last_with_jobs,omitzero"`
	// LastDetector is the worker of the last detection, which the next detection prefers.
	LastDetector string `json:"last_detector,omitempty"`
	// Worker of the last failed detection, which the next group avoids: the cause may be that node alone.
	AvoidDetector string `json:"avoid_detector,omitempty"`
	// Good and Bad hold the last MaxRunRecords runs each, newest first.
	Good []RunSummary `json:"good,omitempty"`
	Bad  []RunSummary `json:"bad,omitempty"`
	// ClosedUntil is the next opening of the window that skipped the last runs.
	ClosedUntil time.Time `json:"closed_until,omitzero"`
	// Durations of the last completed attempts, oldest first, at most 100, without those from a checkpoint.
	TookMS []int64 `json:"took_ms,omitempty"`
	// From jobs stopped by the end of a window, oldest first, at most 50 and 32 KiB in total.
	Checkpoints []KeptCheckpoint `json:"checkpoints,omitempty"`
	// Values are the numbers that jobs returned in the last runs; nil: none.
	Values *Values `json:"values,omitempty"`
	// Ticks counts the dropped ticks recorded in the audit log; nil if none yet.
	Ticks *TickCounts `json:"ticks,omitempty"`
}

// TickCounts counts the ticks that the server dropped since the Schedule was created.
type TickCounts struct {
	// Skipped: the previous group was open. Missed: the server was away for longer than the catch-up window.
	Skipped int `json:"skipped"`
	Missed  int `json:"missed"`
}

// MaxRunRecords is the maximum number of good runs, and of bad runs, in a record.
const MaxRunRecords = 10

// RunSummary is one past run of a job type.
type RunSummary struct {
	WorkflowID string       `json:"workflow_id"`
	RunID      string       `json:"run_id"`
	Outcome    Outcome      `json:"outcome"`
	Reason     string       `json:"reason,omitempty"`
	StartedAt  time.Time    `json:"started_at,omitzero"`
	EndedAt    time.Time    `json:"ended_at,omitzero"`
	Counts     GroupCounts  `json:"counts"`
	Terminated *Termination `json:"terminated,omitempty"`
}

// Termination records the actor and the reason of a termination.
type Termination struct {
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"`
}
