package starter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/engine/duration"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/values"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/jobtype"
)

// Snapshot is a run at one moment. The fields that groups and DAGs share stand in it
// directly; Group, Result, DAGStatus and DAGResult have what only one kind has.
type Snapshot struct {
	Run

	// RetriedBy lists the runs that resume this run, oldest first, where they were looked up.
	RetriedBy []string `json:"retried_by,omitempty"`
	// HistoryLength counts the events of the workflow run.
	HistoryLength int64 `json:"history_length"`
	// CreatedAt is the start of the first workflow run, ModifiedAt the last change of the phase or
	// of an item.
	CreatedAt  time.Time `json:"created_at,omitzero"`
	ModifiedAt time.Time `json:"modified_at,omitzero"`
	// Phase and the next ones are what an open run reports. All are empty when nobody
	// answered, which Unanswered then explains.
	Phase     string                 `json:"phase,omitempty"`
	Paused    bool                   `json:"paused,omitempty"`
	PauseNote string                 `json:"pause_note,omitempty"`
	PausedBy  string                 `json:"paused_by,omitempty"`
	Waiting   string                 `json:"waiting,omitempty"`
	Wait      *contract.WaitReason   `json:"wait,omitempty"`
	Deadline  time.Time              `json:"deadline,omitzero"`
	Workers   []contract.GroupWorker `json:"workers,omitempty"`
	// Unanswered is why an open run did not answer.
	Unanswered string `json:"unanswered,omitempty"`
	silence    error
	// Active are the items on workers right now, with their progress.
	Active []ActiveItem `json:"active,omitempty"`
	// Failed are the first failed items. An open group does not list them.
	Failed []contract.JobError `json:"failed,omitempty"`
	// Values are the trends of the numbers that jobs returned, up to this run; empty for an open or an ad-hoc
	// run. ValuesDropped counts numbers without a trend.
	Values        []values.Trend `json:"values,omitempty"`
	ValuesDropped int            `json:"values_dropped,omitempty"`
	// Reason explains the outcome of a closed run, Failure why it left no result.
	Reason     string `json:"reason,omitempty"`
	Failure    string `json:"failure,omitempty"`
	DurationMS int64  `json:"duration_ms,omitempty"`

	Group     *contract.GroupStatus    `json:"group,omitempty"`
	Result    *contract.JobGroupResult `json:"result,omitempty"`
	DAGStatus *contract.DAGStatus      `json:"dag_status,omitempty"`
	DAGResult *contract.DAGResult      `json:"dag_result,omitempty"`
	// final is the last state of a DAG, from which its items are read.
	final []byte
	// record lists the jobs of a group.
	record *contract.ItemRecord
	// failures and uncounted are what [Runs.Failures] found when a watch saw the end.
	failures  []explain.Failure
	uncounted int
}

// Failures groups the failed items by their messages, the most frequent first; uncounted
// is how many are in no group: those that the result does not list, unless the snapshot
// is the last one of [Runs.Watch], which has read them.
func (s Snapshot) Failures() (failures []explain.Failure, uncounted int) {
	if s.failures != nil || s.Progress == nil {
		return s.failures, s.uncounted
	}
	return explain.GroupFailures(s.Failed), max(0, s.Progress.Failed-len(s.Failed))
}

// ActiveItem is one attempt in flight, as the server sees it.
type ActiveItem struct {
	ID string `json:"id"`
	// Started is false while the attempt waits for its worker to take it.
	Started   bool      `json:"started"`
	StartedAt time.Time `json:"started_at,omitzero"`
	// BeatAt is when the last heartbeat reached the server.
	BeatAt time.Time `json:"beat_at,omitzero"`
	// Progress is that heartbeat; nil before the first one.
	Progress *contract.Heartbeat `json:"progress,omitempty"`
	// Quiet is the time without a sign of life, from a minute on: no report, output, CPU or I/O.
	Quiet jobtype.Duration `json:"quiet,omitempty"`
	// Identity of the process that runs it.
	Identity string `json:"identity,omitempty"`
}

// Silence is why an open run did not answer, as an error; nil: it did, or is too new.
func (s Snapshot) Silence() error { return s.silence }

func (s Snapshot) unanswered(why error) Snapshot {
	s.Unanswered = why.Error()
	return s
}

// Show takes a snapshot of a run. A control plane that is down is not an error:
// the snapshot then holds what the server itself knows.
func (r Runs) Show(ctx context.Context, ref RunRef) (Snapshot, error) {
	snapshot, err := r.show(ctx, ref)
	if err != nil {
		return Snapshot{}, err
	}
	return snapshot.stand(), nil
}

// stand adds the standing of the run.
func (s Snapshot) stand() Snapshot {
	facts := explain.RunStandingFacts{
		DAG: s.Kind == KindDAG, Open: s.Open(), DryRun: s.DryRun, Frozen: s.Status == StatusPaused, Status: string(s.Status), Outcome: s.Outcome,
		Paused: s.Paused, PauseNote: s.PauseNote, PausedBy: s.PausedBy, Phase: s.Phase, Waiting: s.Waiting,
		Warnings: s.Counts[contract.JobWarning], Reason: s.Reason, Failure: s.Failure,
	}
	if s.Progress != nil {
		facts.Running, facts.Failed = s.Progress.Running, s.Progress.Failed
	}
	s.Standing = explain.RunStandingOf(facts)
	return s
}

func (r Runs) show(ctx context.Context, ref RunRef) (Snapshot, error) {
	snapshot, err := r.Describe(ctx, ref)
	if err != nil {
		return Snapshot{}, err
	}
	if !snapshot.Open() {
		return r.withResult(ctx, snapshot)
	}
	if snapshot.Kind == KindDAG {
		err = answered(ctx, r.client, &snapshot, Snapshot.withDAG)
	} else {
		err = answered(ctx, r.client, &snapshot, Snapshot.withGroup)
	}
	switch {
	case NotReady(err):
		snapshot.Unanswered = "the run has just been started"
	case Unanswered(err):
		snapshot.Unanswered, snapshot.silence = err.Error(), err
	case err != nil:
		return Snapshot{}, err
	}
	return snapshot, nil
}

// answered asks an open run for its status and adds it.
func answered[S any](ctx context.Context, c *Client, snapshot *Snapshot, with func(Snapshot, S) Snapshot) error {
	status, err := query[S](ctx, c, RunRef{WorkflowID: snapshot.WorkflowID, RunID: snapshot.RunID}, contract.QueryStatus)
	if err == nil {
		*snapshot = with(*snapshot, status)
	}
	return err
}

func (s Snapshot) withGroup(status contract.GroupStatus) Snapshot {
	explain.Phases(status.Phases)
	s.Group, s.Phase, s.Paused, s.PauseNote = &status, status.Phase, status.Paused, status.PauseNote
	s.Waiting, s.Wait, s.Deadline, s.Workers, s.ModifiedAt = status.Waiting, status.Wait, status.Deadline, status.Workers, status.ModifiedAt
	s.Counts, s.Progress = countsOfGroup(status.Counts, status.Pending, status.Running)
	if status.Usual != nil && !status.StartedAt.IsZero() {
		judged := duration.Of(max(time.Since(status.StartedAt), 0), true, status.Counts.Accepted, *status.Usual)
		s.Pace = &judged
	}
	return s
}

func (s Snapshot) withDAG(status contract.DAGStatus) Snapshot {
	s.DAGStatus, s.DAG, s.Phase, s.Paused, s.PauseNote, s.PausedBy = &status, status.DAG, status.Phase, status.Paused, status.PauseNote, status.PausedBy
	s.Waiting, s.Deadline, s.Workers, s.ModifiedAt = status.Waiting, status.Deadline, status.Workers, status.ModifiedAt
	for _, task := range status.Failed {
		s.Failed = append(s.Failed, failedTask(task.ID, task.DAGTask))
	}
	s.Counts, s.Progress = countsOfDAG(status.Counts)
	return s
}

func failedTask(id string, task contract.DAGTask) contract.JobError {
	return contract.JobError{JobID: id, Message: task.Error, Worker: task.Worker, Attempts: task.Attempts}
}

func countsOfGroup(counts contract.GroupCounts, pending, running int) (Counts, *Progress) {
	states := Counts{"pending": pending, "running": running, "held_back": counts.HeldBack}
	for _, count := range counts.List() {
		states[count.Code] = count.N
	}
	return states, &Progress{Total: counts.Accepted, Ended: counts.Ended(), Running: running, Failed: counts.Failed, HeldBack: counts.HeldBack}
}

func countsOfDAG(counts map[string]int) (Counts, *Progress) {
	p := &Progress{Running: counts[dag.Running.String()], Failed: counts[dag.Failed.String()]}
	for _, state := range dag.States() {
		n := counts[state.String()]
		p.Total += n
		if state.Terminal() {
			p.Ended += n
		}
	}
	done := counts[contract.JobWarning]
	p.Total, p.Ended = p.Total+done, p.Ended+done
	return counts, p
}

// Describe is Show without what the run itself reports: it asks the server alone, no worker.
func (r Runs) Describe(ctx context.Context, ref RunRef) (Snapshot, error) {
	response, err := r.client.temporal.DescribeWorkflowExecution(ctx, ref.WorkflowID, ref.RunID)
	if err != nil {
		return Snapshot{}, runError(ref, err)
	}
	info := response.GetWorkflowExecutionInfo()
	if info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW && ref.RunID != "" {
		// The run continues in a later workflow run under the same id.
		return r.Describe(ctx, RunRef{WorkflowID: ref.WorkflowID})
	}
	if name := info.GetType().GetName(); name != contract.JobGroupWorkflow && name != contract.DAGWorkflow {
		return Snapshot{}, fmt.Errorf("workflow %s is a %s, not a run of a job type or of a DAG", ref.WorkflowID, name)
	}
	run := r.runOf(info)
	run.Started = r.chainStart(ctx, run, info.GetFirstRunId())
	return Snapshot{
		Run:           run,
		HistoryLength: info.GetHistoryLength(), CreatedAt: run.Started, ModifiedAt: run.Ended,
		Active: r.client.activeItems(response.GetPendingActivities()),
	}, nil
}

// chainStart is when the first workflow run of a run began, which may have continued as
// new since. Where the server no longer has it, it is when the last one began.
func (r Runs) chainStart(ctx context.Context, run Run, first string) time.Time {
	if first == "" || first == run.RunID {
		return run.Started
	}
	response, err := r.client.temporal.DescribeWorkflowExecution(ctx, run.WorkflowID, first)
	if err != nil {
		r.client.logger.Debug("start of a run", "run", run.WorkflowID, "error", err)
		return run.Started
	}
	return response.GetWorkflowExecutionInfo().GetStartTime().AsTime()
}

func (c *Client) activeItems(pending []*workflowpb.PendingActivityInfo) []ActiveItem {
	var active []ActiveItem
	for _, activity := range pending {
		if activity.GetActivityType().GetName() != contract.ExecuteActivity {
			continue
		}
		active = append(active, ActiveItem{
			ID:        contract.JobOfAttempt(activity.GetActivityId()),
			Started:   activity.GetState() != enumspb.PENDING_ACTIVITY_STATE_SCHEDULED,
			StartedAt: rpc.Time(activity.GetLastStartedTime()),
			BeatAt:    rpc.Time(activity.GetLastHeartbeatTime()),
			Identity:  activity.GetLastWorkerIdentity(),
			Progress:  c.progressOf(activity.GetHeartbeatDetails()),
		})
		if last := &active[len(active)-1]; last.Progress != nil && last.Progress.Quiet > 0 {
			last.Quiet = last.Progress.Quiet + jobtype.Duration(max(0, time.Since(last.BeatAt).Truncate(time.Second)))
		}
	}
	slices.SortFunc(active, func(a, b ActiveItem) int { return strings.Compare(a.ID, b.ID) })
	return active
}

func (c *Client) progressOf(details *commonpb.Payloads) *contract.Heartbeat {
	if len(details.GetPayloads()) == 0 {
		return nil
	}
	var beat contract.Heartbeat
	if err := DataConverter().FromPayload(details.GetPayloads()[0], &beat); err != nil {
		c.logger.Debug("unreadable heartbeat", "error", err)
		return nil
	}
	return &beat
}

// withResult adds what a closed run left behind.
func (r Runs) withResult(ctx context.Context, snapshot Snapshot) (Snapshot, error) {
	var err error
	if snapshot.Kind == KindDAG {
		err = left(ctx, r.client, &snapshot, Snapshot.leftDAG)
	} else {
		err = left(ctx, r.client, &snapshot, Snapshot.leftGroup)
	}
	if failure, ok := errors.AsType[*RunFailedError](err); ok {
		snapshot.Failure = failure.Message
		snapshot.DurationMS = snapshot.Ended.Sub(snapshot.Started).Milliseconds()
		return snapshot, nil
	}
	return snapshot, err
}

func (s Snapshot) leftGroup(result contract.JobGroupResult) (Snapshot, contract.Outcome) {
	s.record, result.Items = result.Items, nil
	explain.Phases(result.Phases)
	s.Result, s.Outcome, s.Reason, s.DurationMS = &result, result.Outcome, result.Reason, result.DurationMS
	s.Failed = result.Errors
	s.Counts, s.Progress = countsOfGroup(result.Counts, 0, 0)
	s.Pace = paceOf(s.WorkflowID, result)
	if known := result.Record.Values; known != nil {
		s.Values, s.ValuesDropped = values.TrendsOf(known), known.Dropped
	}
	return s, result.Outcome
}

// paceOf compares a closed run with those that its record has next to itself.
func paceOf(workflowID string, result contract.JobGroupResult) *contract.Pace {
	switch {
	case result.DryRun, result.Submission != "", result.Outcome == contract.OutcomeSkipped, result.Outcome == contract.OutcomeCanceled:
		return nil
	}
	before := slices.DeleteFunc(slices.Clone(result.Record.Good), func(run contract.RunSummary) bool { return run.WorkflowID == workflowID })
	judged := duration.Of(result.EndedAt.Sub(result.StartedAt), false, result.Counts.Accepted, duration.UsualOf(before))
	return &judged
}

func (s Snapshot) leftDAG(result contract.DAGResult) (Snapshot, contract.Outcome) {
	s.DAG, s.Outcome, s.Reason, s.DurationMS = cmp.Or(result.DAG, s.DAG), result.Outcome, result.Reason, result.DurationMS
	for _, id := range slices.Sorted(maps.Keys(result.Tasks)) {
		if task := result.Tasks[id]; task.State == dag.Failed.String() && len(s.Failed) < contract.MaxJobErrors {
			s.Failed = append(s.Failed, failedTask(id, task))
		}
	}
	s.Counts, s.Progress = countsOfDAG(result.Counts)
	s.final, result.Final = result.Final, nil
	s.DAGResult = &result
	return s, result.Outcome
}

// RunFailedError means that a run left no result: it was terminated, timed out
// in Temporal, or met a bug.
type RunFailedError struct {
	Ref     RunRef
	Message string
}

// Error implements error.
func (e *RunFailedError) Error() string {
	return fmt.Sprintf("run %s left no result: %s", e.Ref.WorkflowID, e.Message)
}

// left reads what a closed run left and adds it. A completed run returned it; of a
// failed or canceled one it is the detail of the error.
func left[R any](ctx context.Context, c *Client, snapshot *Snapshot, with func(Snapshot, R) (Snapshot, contract.Outcome)) error {
	ref := snapshot.RunRef
	var result R
	err := c.temporal.GetWorkflow(ctx, ref.WorkflowID, ref.RunID).Get(ctx, &result)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("read the result of run %s: %w", ref.WorkflowID, context.Cause(ctx))
	}
	if err == nil || contract.ResultOfFailure(err, &result) {
		if shown, outcome := with(*snapshot, result); outcome != "" {
			*snapshot = shown
			return nil
		}
	}
	execution, ended := errors.AsType[*temporal.WorkflowExecutionError](err)
	switch {
	case err == nil:
		return &RunFailedError{Ref: ref, Message: "it left no outcome"}
	case temporal.IsCanceledError(err):
		return &RunFailedError{Ref: ref, Message: "canceled before it could report"}
	case ended:
		return &RunFailedError{Ref: ref, Message: errors.Unwrap(execution).Error()}
	}
	return runError(ref, err)
}

// Worker names the worker of a running attempt. Before its first heartbeat only the
// identity of its process is known, which begins with the id.
func (a ActiveItem) Worker() string {
	if a.Progress != nil && a.Progress.Worker != "" {
		return a.Progress.Worker
	}
	id, _, _ := strings.Cut(a.Identity, "@")
	return id
}
