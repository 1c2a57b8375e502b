package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// Operators can send signals with the `temporal` CLI; updates are messages that can be refused.
const (
	// SignalCancelRun takes a CancelRunInput, like `temporal workflow cancel` with a reason. A second one also
	// cancels tasks with the rule always.
	SignalCancelRun = "cancel"
	// SignalPause and SignalResume take a PauseInput.
	SignalPause  = "pause"
	SignalResume = "resume"
	// SignalJobOutcome takes a JobOutcomeInput. Only workers send it.
	SignalJobOutcome = "job-outcome"
	// SignalWorkerRoom takes a WorkerRoomInput, from a worker that returned a job for lack of a slot.
	SignalWorkerRoom = "worker-room"

	// UpdateDetectPage takes a DetectPageInput and returns a DetectPageResult. Only detectors send it.
	UpdateDetectPage = "detect-page"
	// UpdateSetPolicy takes a SetPolicyInput and returns a SetPolicyResult.
	UpdateSetPolicy = "set-policy"

	// QueryStatus returns a GroupStatus.
	QueryStatus = "status"
	// QueryJobs takes a JobsQueryInput and returns a JobsQueryResult.
	QueryJobs = "jobs"
)

// CancelRunInput is the argument of [SignalCancelRun].
type CancelRunInput struct {
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"`
}

// PauseInput is the reason and the actor of a pause or a resume. No new item starts during a pause.
type PauseInput struct {
	Note string `json:"note,omitempty"`
	By   string `json:"by,omitempty"`
}

// DetectPageInput is one page of proposals. A repeated page returns the first result; a page of an older attempt is
// refused.
type DetectPageInput struct {
	Attempt   int                `json:"attempt"`
	Seq       int                `json:"seq"`
	Proposals []jobtype.Proposal `json:"proposals"`
	// Batch of each proposal, empty for none. It is omitted if no proposal has a batch.
	BatchKeys []string `json:"batch_keys,omitempty"`
	// Paged describes proposals in a page of the group; Proposals is empty then.
	Paged *ProposalPage `json:"paged,omitempty"`
}

// DetectPageResult counts the proposals of a page by result. Full ends the detection.
type DetectPageResult struct {
	Accepted   int  `json:"accepted"`
	Duplicates int  `json:"duplicates"`
	Surplus    int  `json:"surplus"`
	Full       bool `json:"full"`
}

// Bounds of a page, in proposals and in bytes of JSON.
const (
	MaxPageProposals = 200
	MaxPageBytes     = 256 << 10
)

// SetPolicyInput changes settings of the running group's policy, or replaces it.
type SetPolicyInput struct {
	// Change holds the changed settings by their names in the configuration. All other settings stay.
	Change json.RawMessage `json:"change,omitempty"`
	// Policy is a whole policy, instead of Change.
	Policy jobtype.Policy `json:"policy,omitzero"`
	// New retry budget. nil leaves it unchanged; a budget without rules removes it.
	RetryBudget *RetryBudget `json:"retry_budget,omitempty"`
	By          string       `json:"by,omitempty"`
}

// UnmarshalJSON refuses unknown keys, so that no setting is ignored without an error.
func (in *SetPolicyInput) UnmarshalJSON(data []byte) error {
	type plain SetPolicyInput // Has no UnmarshalJSON method.
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode((*plain)(in)); err != nil {
		return fmt.Errorf("%w: write {\"change\": {\"global_execution_concurrency\": 8}, \"by\": \"you\"}, or {\"policy\": {…every setting of the policy…}}; next to it, or alone, \"retry_budget\": {\"per_key\": {…}, \"per_type\": {…}}", err)
	}
	return nil
}

// Over returns the changed policy without validating it. An unknown setting is an error.
func (in SetPolicyInput) Over(current jobtype.Policy) (jobtype.Policy, error) {
	whole := in.Policy != jobtype.Policy{}
	switch {
	case whole && in.Change != nil:
		return current, errors.New("give either change or policy, not both")
	case whole:
		return in.Policy, nil
	case in.Change == nil && in.RetryBudget == nil:
		return current, errors.New("nothing is set: give change, policy or retry_budget")
	case in.Change == nil:
		return current, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(in.Change))
	decoder.DisallowUnknownFields()
	changed := current
	if err := decoder.Decode(&changed); err != nil {
		return current, fmt.Errorf("change: %w: write settings of a policy as the configuration has them, {\"max_runtime\": \"2h\"}", err)
	}
	return changed, nil
}

// SetPolicyResult is the policy and retry budget before and after the change.
type SetPolicyResult struct {
	Before            jobtype.Policy `json:"before"`
	After             jobtype.Policy `json:"after,omitzero"`
	RetryBudgetBefore *RetryBudget   `json:"retry_budget_before,omitempty"`
}

// JobOutcomeInput is an outcome of a timed-out activity. It counts if the attempt is still the job's current one.
type JobOutcomeInput struct {
	JobID   string `json:"job_id"`
	Attempt int    `json:"attempt"`
	// Fence of the attempt. Attempt numbers repeat after a reset; fences do not.
	Fence   int64        `json:"fence,omitempty"`
	Outcome ExecuteState `json:"outcome"`
}

// WorkerRoomInput reports a free slot for a handler, and the slots used by other groups.
type WorkerRoomInput struct {
	Worker   string `json:"worker"`
	Instance string `json:"instance"`
	Handler  string `json:"handler"`
	// At is the time by the worker's clock.
	At              time.Time `json:"at"`
	Others          int       `json:"others,omitempty"`
	OthersOfHandler int       `json:"others_of_handler,omitempty"`
}

// JobsQueryInput filters and pages the jobs of a group.
type JobsQueryInput struct {
	// States selects jobs in one of these states; empty selects all.
	States []string `json:"states,omitempty"`
	// JobID or DedupeKey select one job. DedupeKey also matches a proposal in a batch.
	JobID     string `json:"job_id,omitempty"`
	DedupeKey string `json:"dedupe_key,omitempty"`
	// Worker selects the jobs that it runs or ran last.
	Worker string `json:"worker,omitempty"`
	// Offset, After and Limit select a page: After leaves out the jobs up to this number. Limit 0 means 200.
	Offset int `json:"offset,omitempty"`
	After  int `json:"after,omitempty"`
	Limit  int `json:"limit,omitempty"`
	// Work adds the work of the jobs that were not done, and the items of batches.
	Work bool `json:"work,omitempty"`
	// Brief requests only Map.
	Brief bool `json:"brief,omitempty"`
}

// JobWork is the work of a job: the proposals that a retry of the job submits.
type JobWork struct {
	Proposals []jobtype.Proposal `json:"proposals"`
	// BatchKey is the batch of the proposals, see [DetectPageInput].
	BatchKey string `json:"batch_key,omitempty"`
}

// JobsQueryResult is one page of jobs. Total counts all matches.
type JobsQueryResult struct {
	Jobs  []JobView `json:"jobs"`
	Total int       `json:"total"`
	// Record lists the pages with further jobs, which have ended. Neither Jobs nor Total has them.
	Record []RecordPage `json:"record,omitempty"`
	// Proposals lists the pages with the keys and summaries of jobs.
	Proposals []ProposalTable `json:"proposals,omitempty"`
	// Map has a byte for each job by its number: an index into [JobStates], or [JobMapUnknown].
	Map []byte `json:"map,omitempty"`
}

// JobMapUnknown marks a job in a map that its run does not hold.
const JobMapUnknown = 255

// JobView is one job as operators see it.
type JobView struct {
	JobID     string `json:"job_id"`
	DedupeKey string `json:"dedupe_key,omitempty"`
	// Number of proposals in a batched job. Batch lists them if the query selects one job.
	Items    int                 `json:"items,omitempty"`
	Batch    []jobtype.BatchItem `json:"batch,omitempty"`
	Summary  string              `json:"summary,omitempty"`
	Priority jobtype.Priority    `json:"priority,omitempty"`
	State    string              `json:"state"`
	// Waiting is the reason why a pending job waits, as text; Wait is the same for programs.
	Waiting string      `json:"waiting,omitempty"`
	Wait    *WaitReason `json:"wait,omitempty"`
	// Worker is the current or last worker.
	Worker           string           `json:"worker,omitempty"`
	Attempt          int              `json:"attempt,omitempty"`
	Error            string           `json:"error,omitempty"`
	NotBefore        time.Time        `json:"not_before,omitzero"`
	EstimatedRuntime jobtype.Duration `json:"estimated_runtime,omitempty"`
	// CreatedAt is the proposal's acceptance, ModifiedAt the last change of the state.
	CreatedAt  time.Time `json:"created_at,omitzero"`
	ModifiedAt time.Time `json:"modified_at,omitzero"`
	StartedAt  time.Time `json:"started_at,omitzero"`
	EndedAt    time.Time `json:"ended_at,omitzero"`
	// Data is the [ResultData] of a job that was done, up to [MaxJobData].
	Data json.RawMessage `json:"data,omitempty"`
	// Work is a [JobWork] as JSON, if the query selects it.
	Work string `json:"work,omitempty"`
}

// WaitReason is one reason to wait.
type WaitReason struct {
	// Code is listed in docs/explain.md.
	Code   string    `json:"code"`
	Object string    `json:"object,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	Until  time.Time `json:"until,omitzero"`
	Detail string    `json:"detail,omitempty"`
	// Number of jobs or tasks with this reason; the first of the jobs, or the only task.
	Items int    `json:"items,omitempty"`
	Item  string `json:"item,omitempty"`
}

// String renders the reason in one line: code, object, end of the wait, cause.
func (w WaitReason) String() string {
	text := w.Code
	if w.Object != "" {
		text += " " + w.Object
	}
	if !w.Until.IsZero() {
		text += " until " + w.Until.UTC().Format(time.RFC3339)
	}
	if w.Detail != "" {
		text += ": " + w.Detail
	}
	return text
}

// DedupedProposal is a proposal whose dedupe key another group holds.
type DedupedProposal struct {
	DedupeKey string `json:"dedupe_key"`
	By        string `json:"by"`
}

// GroupStatus is the result of [QueryStatus].
type GroupStatus struct {
	JobType   string `json:"job_type"`
	Phase     string `json:"phase"`
	Paused    bool   `json:"paused,omitempty"`
	PauseNote string `json:"pause_note,omitempty"`
	// StartedAt is the start after the waits for the window and the lane.
	StartedAt time.Time `json:"started_at"`
	Deadline  time.Time `json:"deadline,omitzero"`
	// ModifiedAt is the last change of the phase or of a job.
	ModifiedAt   time.Time   `json:"modified_at,omitzero"`
	Counts       GroupCounts `json:"counts"`
	Pending      int         `json:"pending"`
	Running      int         `json:"running"`
	Detector     string      `json:"detector,omitempty"`
	Explanations []string    `json:"explanations,omitempty"`
	// Waiting is the reason why the whole group waits, as text; Wait is the same for programs.
	Waiting string      `json:"waiting,omitempty"`
	Wait    *WaitReason `json:"wait,omitempty"`
	// Phases lists past phases and the current one, oldest first.
	Phases []GroupPhase `json:"phases,omitempty"`
	// Waits lists the reasons of waiting jobs, most jobs first: at most 20, and one of each further code. The backlog is last:
	// it waits for the other jobs.
	Waits []WaitReason `json:"waits,omitempty"`
	// DAGJobs are the running jobs that are runs of DAGs, the first 20.
	DAGJobs []string `json:"dag_jobs,omitempty"`
	// Lane is the exclusive lane of the group, if any.
	Lane string `json:"lane,omitempty"`
	// DAG is the name of the DAG that each job is a run of; empty: a handler executes the jobs.
	DAG string `json:"dag,omitempty"`
	// Time at which the group gave its lane back for waits for approvals; zero if it holds the lane.
	LaneReleasedAt time.Time `json:"lane_released_at,omitzero"`
	// Completed runs of the job type before this one; nil for dry runs and ad-hoc groups.
	Usual *Usual `json:"usual,omitempty"`
	// For a group for every worker: targets, detections that run now, and the first unreachable workers.
	Targets   int            `json:"targets,omitempty"`
	Detecting int            `json:"detecting,omitempty"`
	Missed    []MissedWorker `json:"missed,omitempty"`
	// Deduped lists the first proposals whose keys other groups hold.
	Deduped []DedupedProposal `json:"deduped,omitempty"`
	// HeldBack lists the first proposals with keys that are held back.
	HeldBack []AdmissionHold `json:"held_back,omitempty"`
	Policy   jobtype.Policy  `json:"policy"`
	// RetryBudget is the group's; nil means no limit.
	RetryBudget *RetryBudget `json:"retry_budget,omitempty"`
	// Window of the group, if any. IgnoresWindow: an operator started it in spite of its windows.
	Window        *GroupWindow `json:"window,omitempty"`
	IgnoresWindow bool         `json:"ignores_window,omitempty"`
	// Workers lists the usable workers with the group's jobs on them.
	Workers []GroupWorker `json:"workers,omitempty"`
}

// MostWait returns the wait of most jobs, that of the backlog only if no other job waits; nil without one.
func (s *GroupStatus) MostWait() *WaitReason {
	if s == nil || len(s.Waits) == 0 {
		return nil
	}
	return &s.Waits[0]
}

// GroupPhase is the start of a phase.
type GroupPhase struct {
	Phase string    `json:"phase"`
	At    time.Time `json:"at"`
	// Code is the reason of a waiting phase: window, worker or lane.
	Code string `json:"code,omitempty"`
	// Text is the phase in words, for readers.
	Text string `json:"text,omitempty"`
}

// GroupWorker is one worker in the view of a group.
type GroupWorker struct {
	ID      string `json:"id"`
	State   string `json:"state"`
	Usable  bool   `json:"usable"`
	Reason  string `json:"reason,omitempty"`
	Running int    `json:"running"`
	Slots   int    `json:"slots"`
	// Others is the number of slots used by other groups and runs, as last reported to this group.
	Others int `json:"others,omitempty"`
}
