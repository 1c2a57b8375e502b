package jobs

import (
	"context"
	"errors"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// Server is the Temporal server as a running job needs it. Errors are
// [jobtype.ErrCanceled], [jobtype.ErrLeaseLost], [jobtype.ErrDraining], a
// [*RejectedError], or transient.
type Server interface {
	// Beat records a heartbeat. ErrCanceled: it was recorded and the job is to
	// be canceled. ErrLeaseLost: the server knows no such attempt any more.
	Beat(ctx context.Context, token []byte, beat contract.Heartbeat) error
	// Complete reports the result, or failure if it is not nil. ErrLeaseLost as
	// in Beat.
	Complete(ctx context.Context, token []byte, result any, failure error) error
	// SignalOutcome tells the group what the activity could not. ErrLeaseLost:
	// there is no such group any more.
	SignalOutcome(ctx context.Context, workflowID string, outcome contract.JobOutcomeInput) error
}

// Pages takes the pages of a detection. Errors are [jobtype.ErrLeaseLost] when
// the group is gone, a [*RejectedError] when it refused, or transient.
type Pages interface {
	SendPage(ctx context.Context, workflowID, runID, updateID string, page contract.DetectPageInput) (contract.DetectPageResult, error)
}

// Runs knows what the jobs of a run have in common. Errors are as those of [Pages].
type Runs interface {
	Common(ctx context.Context, workflowID, id string) (contract.RunCommon, error)
}

// RejectedError is an answer that will be the same for every repetition.
type RejectedError struct{ Err error }

// Error implements error.
func (e *RejectedError) Error() string { return e.Err.Error() }

// Unwrap gives the server's own error.
func (e *RejectedError) Unwrap() error { return e.Err }

// ClientServer is [Server], [Pages] and [Runs] over a Temporal client.
type ClientServer struct{ client client.Client }

// NewServer returns the adapter of c.
func NewServer(c client.Client) *ClientServer { return &ClientServer{client: c} }

// Beat implements [Server].
func (s *ClientServer) Beat(ctx context.Context, token []byte, beat contract.Heartbeat) error {
	return classify(s.client.RecordActivityHeartbeat(ctx, token, beat))
}

// Complete implements [Server].
func (s *ClientServer) Complete(ctx context.Context, token []byte, result any, failure error) error {
	return classify(s.client.CompleteActivity(ctx, token, result, failure))
}

// SignalOutcome implements [Server]. The run id stays empty, so that the signal
// reaches the group's current run after a continue-as-new.
func (s *ClientServer) SignalOutcome(ctx context.Context, workflowID string, outcome contract.JobOutcomeInput) error {
	return classify(s.client.SignalWorkflow(ctx, workflowID, "", contract.SignalJobOutcome, outcome))
}

// SendPage implements [Pages]. A repeated updateID gets the first answer.
func (s *ClientServer) SendPage(ctx context.Context, workflowID, runID, updateID string, page contract.DetectPageInput) (contract.DetectPageResult, error) {
	var answer contract.DetectPageResult
	handle, err := s.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID:   workflowID,
		RunID:        runID,
		UpdateID:     updateID,
		UpdateName:   contract.UpdateDetectPage,
		Args:         []any{page},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = handle.Get(ctx, &answer)
	}
	return answer, classify(err)
}

// Common implements [Runs]. The run id stays empty, as that of outcomes.
func (s *ClientServer) Common(ctx context.Context, workflowID, id string) (contract.RunCommon, error) {
	var common contract.RunCommon
	answer, err := s.client.QueryWorkflow(ctx, workflowID, "", contract.QueryCommon, id)
	if err == nil {
		err = answer.Get(&common)
	}
	if _, refused := errors.AsType[*serviceerror.QueryFailed](err); refused {
		return common, &RejectedError{Err: err}
	}
	return common, classify(err)
}

// classify maps what the SDK returns to the errors that [Server] promises.
func classify(err error) error {
	var (
		canceled *temporal.CanceledError
		notFound *serviceerror.NotFound
		invalid  *serviceerror.InvalidArgument
		denied   *serviceerror.FailedPrecondition
		refused  *temporal.ApplicationError
	)
	switch {
	case err == nil, errors.Is(err, activity.ErrActivityPaused):
		// Pausing holds back retries of the server, which we do not use; the
		// running attempt continues.
		return nil
	case errors.As(err, &canceled):
		return jobtype.ErrCanceled
	case errors.Is(err, activity.ErrActivityReset):
		return jobtype.ErrDraining
	case errors.As(err, &notFound):
		return errors.Join(jobtype.ErrLeaseLost, err)
	case errors.As(err, &invalid), errors.As(err, &denied), errors.As(err, &refused):
		return &RejectedError{Err: err}
	}
	return err
}
