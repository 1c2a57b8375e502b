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

// Snapshot is the state of a run at one moment. Some fields are of one kind of run only.
type Snapshot struct {
	Run

	// Runs that resume this run, oldest first, if they were looked up.
	RetriedBy []string `json:"retried_by,omitempty"`
	// Number of events of the workflow run.
	HistoryLength int64 `json:"history_length"`
	// Start of the first workflow run, last change of the phase or of an item.
	CreatedAt  time.Time `json:"created_at,omitzero"`
	ModifiedAt time.Time `json:"modified_at,omitzero"`
	// Reported by an open run. Without an answer they are empty, and Unanswered has the reason.
	Phase     string                 `json:"phase,omitempty"`
	Paused    bool                   `json:"paused,omitempty"`
	PauseNote string                 `json:"pause_note,omitempty"`
	PausedBy  string                 `json:"paused_by,omitempty"`
	Waiting   string                 `json:"waiting,omitempty"`
	Wait      *contract.WaitReason   `json:"wait,omitempty"`
	Deadline  time.Time              `json:"deadline,omitzero"`
	Workers   []contract.GroupWorker `json:"workers,omitempty"`
	// Reason why an open run did not answer.
	Unanswered string `json:"unanswered,omitempty"`
	silence    error
	// Items on workers now, with their progress.
	Active []ActiveItem `json:"active,omitempty"`
	// First failed items. An open group does not list them.
	Failed []contract.JobError `json:"failed,omitempty"`
	// Trends of the numbers returned by jobs. ValuesDropped counts numbers without a trend.
	Values        []values.Trend `json:"values,omitempty"`
	ValuesDropped int            `json:"values_dropped,omitempty"`
	// Reason explains the outcome of a closed run, Failure a missing result.
	Reason     string `json:"reason,omitempty"`
	Failure    string `json:"failure,omitempty"`
	DurationMS int64  `json:"duration_ms,omitempty"`

	Group     *contract.GroupStatus    `json:"group,omitempty"`
	Result    *contract.JobGroupResult `json:"result,omitempty"`
	DAGStatus *contract.DAGStatus      `json:"dag_status,omitempty"`
	DAGResult *contract.DAGResult      `json:"dag_result,omitempty"`
	final     []byte
	record    *contract.ItemRecord
	// Result of [Runs.Failures], set by a watch at the end of the run.
	failures  []explain.Failure
	uncounted int
}

// Failures groups the failed items by message, the most frequent first. uncounted items are in no group; the last
// snapshot of [Runs.Watch] has counted them all.
func (s Snapshot) Failures() (failures []explain.Failure, uncounted int) {
	if s.failures != nil || s.Progress == nil {
		return s.failures, s.uncounted
	}
	return explain.GroupFailures(s.Failed), max(0, s.Progress.Failed-len(s.Failed))
}

// ActiveItem is an attempt in flight, as the server reports it.
type ActiveItem struct {
	ID string `json:"id"`
	// Started is false while the attempt waits in its worker's queue.
	Started   bool      `json:"started"`
	StartedAt time.Time `json:"started_at,omitzero"`
	// Time of the last heartbeat at the server.
	BeatAt time.Time `json:"beat_at,omitzero"`
	// Last heartbeat; nil before the first.
	Progress *contract.Heartbeat `json:"progress,omitempty"`
	// Time without a report, output, CPU or I/O; shown from one minute on.
	Quiet jobtype.Duration `json:"quiet,omitempty"`
	// Identity of the worker process.
	Identity string `json:"identity,omitempty"`
}

// Silence returns the reason why an open run did not answer; nil for a run that has just started.
func (s Snapshot) Silence() error { return s.silence }

func (s Snapshot) unanswered(why error) Snapshot {
	s.Unanswered = why.Error()
	return s
}

// Show returns a snapshot of a run. Without a control plane it holds the server's own data.
func (r Runs) Show(ctx context.Context, ref RunRef) (Snapshot, error) {
	snapshot, err := r.show(ctx, ref)
	if err != nil {
		return Snapshot{}, err
	}
	return snapshot.stand(), nil
}

func (s Snapshot) stand() Snapshot {
	facts := explain.RunStandingFacts{
		DAG: s.Kind == KindDAG, Open: s.Open(), DryRun: s.DryRun, Frozen: s.Status == StatusPaused, Status: string(s.Status), Outcome: s.Outcome,
		Paused: s.Paused, PauseNote: s.PauseNote, PausedBy: s.PausedBy, Phase: s.Phase, Waiting: s.Waiting,
		Warnings: s.Counts[contract.JobWarning], Reason: s.Reason, Failure: s.Failure, Wait: s.Group.MostWait(),
	}
	if s.Result != nil {
		facts.Code = s.Result.Code
	}
	if stuck, is := errors.AsType[*StuckWorkflowError](s.silence); is {
		facts.Waiting, facts.Code = stuck.What(), contract.CodeWorkflowStuck
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
	case NotReady(err) && time.Since(snapshot.Started) < startsWithin:
		snapshot.Unanswered = "the run has just been started"
	case Unanswered(err), NotReady(err):
		snapshot.Unanswered, snapshot.silence = err.Error(), err
	case err != nil:
		return Snapshot{}, err
	}
	if down := RecallOf(ctx); down != nil {
		snapshot.Unanswered, snapshot.silence = down.Error(), down
	}
	return snapshot, nil
}

// startsWithin is the time for the first workflow task of a run.
const startsWithin = time.Minute

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
		s.Pace = new(duration.Of(max(time.Since(status.StartedAt), 0), true, status.Counts.Accepted, *status.Usual))
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
	return states, &Progress{Total: counts.Accepted, Ended: counts.Ended(), Running: running, Failed: counts.Failed + counts.Stale, HeldBack: counts.HeldBack}
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

// Describe is Show without the run's own status. It needs the server only, no control plane.
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

// chainStart returns the start of the first workflow run if the server still has it.
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

func paceOf(workflowID string, result contract.JobGroupResult) *contract.Pace {
	switch {
	case result.DryRun, result.Submission != "", result.Outcome == contract.OutcomeSkipped, result.Outcome == contract.OutcomeCanceled:
		return nil
	}
	before := slices.DeleteFunc(slices.Clone(result.Record.Good), func(run contract.RunSummary) bool { return run.WorkflowID == workflowID })
	return new(duration.Of(result.EndedAt.Sub(result.StartedAt), false, result.Counts.Accepted, duration.UsualOf(before)))
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

// RunFailedError means: a run left no result, because it was terminated, timed out in Temporal, or hit a bug.
type RunFailedError struct {
	Ref     RunRef
	Message string
}

// Error implements error.
func (e *RunFailedError) Error() string {
	return fmt.Sprintf("run %s left no result: %s", e.Ref.WorkflowID, e.Message)
}

// The result of a failed or canceled run is the detail of its error.
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

// Worker returns the worker of a running attempt, before its first heartbeat from the identity.
func (a ActiveItem) Worker() string {
	if a.Progress != nil && a.Progress.Worker != "" {
		return a.Progress.Worker
	}
	id, _, _ := strings.Cut(a.Identity, "@")
	return id
}
