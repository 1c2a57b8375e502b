package starter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
)

// Snapshot is a run at one moment.
type Snapshot struct {
	Run
	// HistoryLength counts the events of the workflow run.
	HistoryLength int64 `json:"history_length"`
	// Group is what an open run says about itself; nil for a closed one, and
	// when nobody answered, which Unanswered then explains.
	Group      *contract.GroupStatus `json:"group,omitempty"`
	Unanswered string                `json:"unanswered,omitempty"`
	silence    error
	// Active are the jobs that run right now, with their progress.
	Active []ActiveJob `json:"active,omitempty"`
	// Result is what a closed run left; nil for one that was terminated or
	// failed, which Failure then explains.
	Result  *contract.JobGroupResult `json:"result,omitempty"`
	Failure string                   `json:"failure,omitempty"`
}

// ActiveJob is one attempt in flight, as the server sees it.
type ActiveJob struct {
	JobID string `json:"job_id"`
	// Started is false while the attempt waits for its worker to take it.
	Started   bool      `json:"started"`
	StartedAt time.Time `json:"started_at,omitzero"`
	// BeatAt is when the last heartbeat reached the server.
	BeatAt time.Time `json:"beat_at,omitzero"`
	// Progress is that heartbeat; nil before the first one.
	Progress *contract.Heartbeat `json:"progress,omitempty"`
	// Identity of the process that runs it.
	Identity string `json:"identity,omitempty"`
}

func (s Snapshot) unanswered(why error) Snapshot {
	s.Unanswered = why.Error()
	return s
}

// Show takes a snapshot of a run. A control plane that is down is not an error:
// the snapshot then holds what the server itself knows.
func (r Runs) Show(ctx context.Context, ref RunRef) (Snapshot, error) {
	snapshot, err := r.describe(ctx, ref)
	if err != nil {
		return Snapshot{}, err
	}
	if !snapshot.Open() {
		return r.withResult(ctx, snapshot)
	}
	var status contract.GroupStatus
	err = r.client.query(ctx, RunRef{WorkflowID: ref.WorkflowID, RunID: snapshot.RunID}, contract.QueryStatus, &status)
	switch {
	case err == nil:
		snapshot.Group = &status
	case isNotReady(err):
		snapshot.Unanswered = "the run has just been started"
	case Unanswered(err):
		snapshot.Unanswered, snapshot.silence = err.Error(), err
	default:
		return Snapshot{}, err
	}
	return snapshot, nil
}

// describe asks the server alone, no worker.
func (r Runs) describe(ctx context.Context, ref RunRef) (Snapshot, error) {
	response, err := r.client.temporal.DescribeWorkflowExecution(ctx, ref.WorkflowID, ref.RunID)
	if err != nil {
		return Snapshot{}, runError(ref, err)
	}
	info := response.GetWorkflowExecutionInfo()
	if info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW && ref.RunID != "" {
		// The group goes on in a later workflow run under the same id.
		return r.describe(ctx, RunRef{WorkflowID: ref.WorkflowID})
	}
	if name := info.GetType().GetName(); name != contract.JobGroupWorkflow {
		return Snapshot{}, fmt.Errorf("workflow %s is a %s, not a run of a job type", ref.WorkflowID, name)
	}
	return Snapshot{
		Run:           r.runOf(info),
		HistoryLength: info.GetHistoryLength(),
		Active:        r.client.activeJobs(response.GetPendingActivities()),
	}, nil
}

func (c *Client) activeJobs(pending []*workflowpb.PendingActivityInfo) []ActiveJob {
	var active []ActiveJob
	for _, activity := range pending {
		if activity.GetActivityType().GetName() != contract.ExecuteActivity {
			continue
		}
		job := ActiveJob{
			JobID:    contract.JobOfAttempt(activity.GetActivityId()),
			Started:  activity.GetState() != enumspb.PENDING_ACTIVITY_STATE_SCHEDULED,
			Identity: activity.GetLastWorkerIdentity(),
			Progress: c.progressOf(activity.GetHeartbeatDetails()),
		}
		if at := activity.GetLastStartedTime(); at != nil {
			job.StartedAt = at.AsTime()
		}
		if at := activity.GetLastHeartbeatTime(); at != nil {
			job.BeatAt = at.AsTime()
		}
		active = append(active, job)
	}
	slices.SortFunc(active, func(a, b ActiveJob) int { return strings.Compare(a.JobID, b.JobID) })
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
	result, err := r.result(ctx, snapshot.RunRef)
	var failure *RunFailedError
	switch {
	case err == nil:
		snapshot.Result, snapshot.Outcome = &result, result.Outcome
	case errors.As(err, &failure):
		snapshot.Failure = failure.Message
	default:
		return Snapshot{}, err
	}
	return snapshot, nil
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

// result waits for a run's end, following it through continue-as-new.
func (r Runs) result(ctx context.Context, ref RunRef) (contract.JobGroupResult, error) {
	var result contract.JobGroupResult
	err := r.client.temporal.GetWorkflow(ctx, ref.WorkflowID, ref.RunID).Get(ctx, &result)
	var (
		canceled  *temporal.CanceledError
		execution *temporal.WorkflowExecutionError
	)
	switch {
	case err == nil:
		return result, nil
	case ctx.Err() != nil:
		return result, fmt.Errorf("wait for run %s: %w", ref.WorkflowID, context.Cause(ctx))
	case errors.As(err, &canceled):
		// A canceled group cleans up first and leaves its result as the details.
		if canceled.HasDetails() && canceled.Details(&result) == nil && result.Outcome != "" {
			return result, nil
		}
		return result, &RunFailedError{Ref: ref, Message: "canceled before it could report"}
	case errors.As(err, &execution):
		return result, &RunFailedError{Ref: ref, Message: errors.Unwrap(execution).Error()}
	}
	return result, runError(ref, err)
}
