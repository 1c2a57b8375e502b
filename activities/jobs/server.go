package jobs

import (
	"context"
	"errors"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/pages"
	"github.com/roundsman/roundsman/jobtype"
)

// Server is the Temporal server for a running job. Errors are [jobtype.ErrCanceled], [jobtype.ErrLeaseLost],
// [jobtype.ErrDraining], a [*RejectedError], or transient.
type Server interface {
	// Beat records a heartbeat. ErrLeaseLost means that the server no longer has the attempt.
	Beat(ctx context.Context, token []byte, beat contract.Heartbeat) error
	// Complete reports the result, or failure if it is not nil. ErrLeaseLost as in Beat.
	Complete(ctx context.Context, token []byte, result any, failure error) error
	// SignalOutcome sends the outcome to the group. ErrLeaseLost means that the group is gone.
	SignalOutcome(ctx context.Context, workflowID string, outcome contract.JobOutcomeInput) error
}

// Pages sends pages. Errors are [jobtype.ErrLeaseLost] if the group is gone, a [*RejectedError] if it refused, or transient.
type Pages interface {
	SendPage(ctx context.Context, workflowID, runID, updateID string, page contract.DetectPageInput) (contract.DetectPageResult, error)
	// PutPage stores proposals apart from the group and returns the name of the page.
	PutPage(ctx context.Context, workflowID string, data []byte) (string, error)
}

// Runs returns the parts of jobs that are not in their input. Errors are as those of [Pages].
type Runs interface {
	Common(ctx context.Context, workflowID, id string) (contract.RunCommon, error)
	Proposal(ctx context.Context, workflowID string, ref contract.ProposalRef) (jobtype.Proposal, error)
}

// RejectedError is an error that a repeat would return again.
type RejectedError struct{ Err error }

// Error implements error.
func (e *RejectedError) Error() string { return e.Err.Error() }

// Unwrap returns the server's own error.
func (e *RejectedError) Unwrap() error { return e.Err }

// ClientServer implements [Server], [Pages] and [Runs] with a Temporal client.
type ClientServer struct {
	client    client.Client
	store     *pages.Store
	proposals *pages.Proposals
}

// NewServer returns the adapter of c, with the store of its pages.
func NewServer(c client.Client, store *pages.Store) *ClientServer {
	return &ClientServer{client: c, store: store, proposals: pages.NewProposals(store)}
}

// Beat implements [Server].
func (s *ClientServer) Beat(ctx context.Context, token []byte, beat contract.Heartbeat) error {
	return classify(s.client.RecordActivityHeartbeat(ctx, token, beat))
}

// Complete implements [Server].
func (s *ClientServer) Complete(ctx context.Context, token []byte, result any, failure error) error {
	return classify(s.client.CompleteActivity(ctx, token, result, failure))
}

// SignalOutcome implements [Server]. Without a run id the signal reaches the current run after a continue-as-new.
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

// PutPage implements [Pages]. A repetition has no effect.
func (s *ClientServer) PutPage(ctx context.Context, workflowID string, data []byte) (string, error) {
	name, err := s.store.Put(ctx, workflowID, data)
	return name, classify(err)
}

// Proposal implements [Runs].
func (s *ClientServer) Proposal(ctx context.Context, workflowID string, ref contract.ProposalRef) (jobtype.Proposal, error) {
	proposal, err := s.proposals.Get(ctx, workflowID, ref)
	if errors.Is(err, pages.ErrLost) {
		return proposal, &RejectedError{Err: err}
	}
	return proposal, classify(err)
}

// Common implements [Runs]. The run id stays empty, as in SignalOutcome.
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
		// A pause only delays retries of the server, which are not used.
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
