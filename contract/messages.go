package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// Messages of a job group. Signals are what a person may type with the plain
// `temporal` CLI; updates are for those who must hear a refusal.
const (
	// SignalCancelJob takes a CancelJobInput.
	SignalCancelJob = "cancel-job"
	// SignalExpireJob takes a CancelJobInput too: the job ends at once, without
	// waiting for its handler.
	SignalExpireJob = "expire-job"
	// SignalCancelGroup takes a CancelGroupInput.
	SignalCancelGroup = "cancel-group"
	// SignalPause and SignalResume take a PauseInput.
	SignalPause  = "pause"
	SignalResume = "resume"
	// SignalJobOutcome takes a JobOutcomeInput. Only workers send it.
	SignalJobOutcome = "job-outcome"
	// SignalWorkerRoom takes a WorkerRoomInput. Only workers send it: to groups and
	// runs of DAGs of which they sent a job back for want of a slot.
	SignalWorkerRoom = "worker-room"

	// UpdateDetectPage takes a DetectPageInput and answers a DetectPageResult.
	// Only detectors send it.
	UpdateDetectPage = "detect-page"
	// UpdateSetPolicy takes a SetPolicyInput and answers a SetPolicyResult.
	UpdateSetPolicy = "set-policy"

	// QueryStatus answers a GroupStatus.
	QueryStatus = "status"
	// QueryJobs takes a JobsQueryInput and answers a JobsQueryResult.
	QueryJobs = "jobs"
)

// CancelJobInput names the job by id or by dedupe key; one of them is enough.
type CancelJobInput struct {
	JobID     string `json:"job_id,omitempty"`
	DedupeKey string `json:"dedupe_key,omitempty"`
	Reason    string `json:"reason,omitempty"`
	By        string `json:"by,omitempty"`
}

// CancelGroupInput says why the group is canceled, and by whom.
type CancelGroupInput struct {
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"`
}

// PauseInput says why no new item is started until resume, and who wants that; of a
// resume, who resumes.
type PauseInput struct {
	Note string `json:"note,omitempty"`
	By   string `json:"by,omitempty"`
}

// DetectPageInput is one page of proposals. Attempt counts the detections of
// the group and Seq the pages of one attempt, from 0: a page that arrives
// twice is answered as it was the first time, a page of an older attempt is
// refused.
type DetectPageInput struct {
	Attempt   int                `json:"attempt"`
	Seq       int                `json:"seq"`
	Proposals []jobtype.Proposal `json:"proposals"`
	// BatchKeys name the batch of each proposal, empty where it has none; left
	// out if none has.
	BatchKeys []string `json:"batch_keys,omitempty"`
}

// DetectPageResult says what became of the page. Full is how the group says
// "enough".
type DetectPageResult struct {
	Accepted   int  `json:"accepted"`
	Duplicates int  `json:"duplicates"`
	Surplus    int  `json:"surplus"`
	Full       bool `json:"full"`
}

// Bounds of a page and of a group, in proposals and bytes of JSON.
const (
	MaxPageProposals = 200
	MaxPageBytes     = 256 << 10
)

// SetPolicyInput changes settings of the running group's policy, or replaces it.
type SetPolicyInput struct {
	// Change has the settings to change, under their names in the configuration;
	// all others stay.
	Change json.RawMessage `json:"change,omitempty"`
	// Policy is a whole policy instead.
	Policy jobtype.Policy `json:"policy,omitzero"`
	// RetryBudget replaces the group's retry budget; nil leaves it as it is, one
	// without rules ends it.
	RetryBudget *RetryBudget `json:"retry_budget,omitempty"`
	By          string       `json:"by,omitempty"`
}

// UnmarshalJSON refuses keys that nothing would come of: whoever sets a policy
// must hear that a setting was not taken.
func (in *SetPolicyInput) UnmarshalJSON(data []byte) error {
	type plain SetPolicyInput // Without this method.
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode((*plain)(in)); err != nil {
		return fmt.Errorf("%w: write {\"change\": {\"global_execution_concurrency\": 8}, \"by\": \"you\"}, or {\"policy\": {…every setting of the policy…}}; next to it, or alone, \"retry_budget\": {\"per_key\": {…}, \"per_type\": {…}}", err)
	}
	return nil
}

// Over returns what becomes of a policy, which need not be valid. A setting that
// does not exist is an error, as is a message that sets nothing.
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

// SetPolicyResult returns what was in force before and what is now.
type SetPolicyResult struct {
	Before jobtype.Policy `json:"before"`
	After  jobtype.Policy `json:"after,omitzero"`
	// RetryBudgetBefore is nil if there was none.
	RetryBudgetBefore *RetryBudget `json:"retry_budget_before,omitempty"`
}

// JobOutcomeInput is an outcome that its worker could not report as the
// activity's result because the server had given the activity up. It counts if
// that attempt is still the job's current one and no other has started.
type JobOutcomeInput struct {
	JobID   string `json:"job_id"`
	Attempt int    `json:"attempt"`
	// Fence is that of the attempt. It tells the attempts of a sub-DAG apart from those
	// of an earlier workflow run under the same id, and those of a group that was reset
	// from those that it has forgotten: their numbers are the same.
	Fence   int64        `json:"fence,omitempty"`
	Outcome ExecuteState `json:"outcome"`
}

// WorkerRoomInput says that a worker has a free slot for that handler, and how many
// of its slots others than the receiver use, as in [ExecuteState].
type WorkerRoomInput struct {
	Worker   string `json:"worker"`
	Instance string `json:"instance"`
	Handler  string `json:"handler"`
	// At is when, by the worker's clock.
	At              time.Time `json:"at"`
	Others          int       `json:"others,omitempty"`
	OthersOfHandler int       `json:"others_of_handler,omitempty"`
}

// JobsQueryInput filters and pages the jobs of a group.
type JobsQueryInput struct {
	// States keeps only jobs in one of these states; empty keeps all.
	States []string `json:"states,omitempty"`
	// JobID or DedupeKey keep one job: DedupeKey the one that stands for the
	// proposal with that key.
	JobID     string `json:"job_id,omitempty"`
	DedupeKey string `json:"dedupe_key,omitempty"`
	// Offset and Limit page through the matching jobs; Limit 0 means 200.
	Offset int `json:"offset,omitempty"`
	Limit  int `json:"limit,omitempty"`
}

// JobsQueryResult is one page of jobs; Total counts all that match.
type JobsQueryResult struct {
	Jobs  []JobView `json:"jobs"`
	Total int       `json:"total"`
}

// JobView is one job as operators see it.
type JobView struct {
	JobID     string `json:"job_id"`
	DedupeKey string `json:"dedupe_key,omitempty"`
	// Items is how many proposals the job stands for, if several; DedupeKey is
	// the first one's. Batch lists them where one job was asked for.
	Items    int                 `json:"items,omitempty"`
	Batch    []jobtype.BatchItem `json:"batch,omitempty"`
	Summary  string              `json:"summary,omitempty"`
	Priority jobtype.Priority    `json:"priority,omitempty"`
	State    string              `json:"state"`
	// Waiting says what a pending job waits for, Wait says it for programs.
	Waiting string      `json:"waiting,omitempty"`
	Wait    *WaitReason `json:"wait,omitempty"`
	// Worker runs it, or ran it last.
	Worker    string    `json:"worker,omitempty"`
	Attempt   int       `json:"attempt,omitempty"`
	Error     string    `json:"error,omitempty"`
	NotBefore time.Time `json:"not_before,omitzero"`
	// EstimatedRuntime is what the proposal says.
	EstimatedRuntime jobtype.Duration `json:"estimated_runtime,omitempty"`
	StartedAt        time.Time        `json:"started_at,omitzero"`
	EndedAt          time.Time        `json:"ended_at,omitzero"`
}

// WaitReason is one thing that is waited for.
type WaitReason struct {
	// Code is one of docs/explain.md.
	Code   string    `json:"code"`
	Object string    `json:"object,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	Until  time.Time `json:"until,omitzero"`
	Detail string    `json:"detail,omitempty"`
	// Items counts the jobs or tasks that wait for the same, where a run tells what
	// its items wait for.
	Items int `json:"items,omitempty"`
}

// String is the reason in one line: code, object, until when, and the cause.
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

// GroupStatus is the answer to [QueryStatus].
type GroupStatus struct {
	JobType   string `json:"job_type"`
	Phase     string `json:"phase"`
	Paused    bool   `json:"paused,omitempty"`
	PauseNote string `json:"pause_note,omitempty"`
	// StartedAt is when it began, after it waited for its window and its turn.
	StartedAt time.Time   `json:"started_at"`
	Deadline  time.Time   `json:"deadline,omitzero"`
	Counts    GroupCounts `json:"counts"`
	Pending   int         `json:"pending"`
	Running   int         `json:"running"`
	// Detector is the worker that detects or detected.
	Detector string `json:"detector,omitempty"`
	// Waiting says what the group as a whole waits for, if anything; Wait says it
	// for programs.
	Waiting string      `json:"waiting,omitempty"`
	Wait    *WaitReason `json:"wait,omitempty"`
	// Phases are those that the group has been in and is in, oldest first.
	Phases []GroupPhase `json:"phases,omitempty"`
	// Waits says what the jobs wait for that do not run, at most 20 reasons, those of
	// most jobs first.
	Waits []WaitReason `json:"waits,omitempty"`
	// Lane is the exclusive lane that the group takes turns in, if any.
	Lane string `json:"lane,omitempty"`
	// Usual is how the completed runs of the job type went before this one; nil for a
	// dry run and an ad-hoc group, which are none.
	Usual *Usual `json:"usual,omitempty"`
	// Targets counts the workers that a group for every worker is for, Detecting those
	// that detect now. Missed are the first of those that it cannot reach.
	Targets   int            `json:"targets,omitempty"`
	Detecting int            `json:"detecting,omitempty"`
	Missed    []MissedWorker `json:"missed,omitempty"`
	// Deduped are the first proposals that other groups are at already.
	Deduped []DedupedProposal `json:"deduped,omitempty"`
	// HeldBack are the first proposals that were left out because their keys are
	// held back.
	HeldBack []AdmissionHold `json:"held_back,omitempty"`
	Policy   jobtype.Policy  `json:"policy"`
	// RetryBudget is the group's; nil: nothing bounds how much may fail.
	RetryBudget *RetryBudget `json:"retry_budget,omitempty"`
	// Window is the window that the group runs in, nil if it has none;
	// IgnoresWindow: somebody asked it to run whatever its windows say.
	Window        *GroupWindow `json:"window,omitempty"`
	IgnoresWindow bool         `json:"ignores_window,omitempty"`
	// Workers are those this group may use, with what it runs on them.
	Workers []GroupWorker `json:"workers,omitempty"`
}

// GroupPhase is the beginning of a phase.
type GroupPhase struct {
	Phase string    `json:"phase"`
	At    time.Time `json:"at"`
	// Code says what a group that is waiting waits for: its window, a worker, its lane.
	Code string `json:"code,omitempty"`
}

// GroupWorker is one worker as a group sees it.
type GroupWorker struct {
	ID      string `json:"id"`
	State   string `json:"state"`
	Usable  bool   `json:"usable"`
	Reason  string `json:"reason,omitempty"`
	Running int    `json:"running"`
	Slots   int    `json:"slots"`
	// Others is how many of its slots other groups and runs use, as far as this
	// one has heard.
	Others int `json:"others,omitempty"`
}
