package registry

import (
	"context"
	"errors"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
)

const (
	registerTimeout   = 10 * time.Second
	unregisterTimeout = 2 * time.Second
	// answerTimeout bounds the wait for a stale holder of an id. A process normally answers within milliseconds.
	answerTimeout = 5 * time.Second
)

// Registry calls the registry of the client's namespace.
type Registry struct{ client client.Client }

// New returns the registry of c.
func New(c client.Client) *Registry { return &Registry{c} }

// Register sends a registration, and creates a missing registry. A repetition with the same instance is accepted.
// A holder of the id among the dead instances is fenced, and so is a stale one whose process does not answer.
func (r *Registry) Register(ctx context.Context, registration contract.WorkerRegistration, dead ...string) (contract.RegisterWorkerResult, error) {
	verdict, err := r.register(ctx, registration)
	if err != nil || verdict.Refused == nil {
		return verdict, err
	}
	switch holder := verdict.Refused.Instance; {
	case slices.Contains(dead, holder):
		registration.TakeOver = true
	case !verdict.Stale:
		return verdict, nil
	case r.answers(ctx, contract.Incarnation{ID: registration.ID, Instance: holder}):
		registration.Answered = holder
	default:
		registration.Unanswered = holder
	}
	return r.register(ctx, registration)
}

func (r *Registry) answers(ctx context.Context, who contract.Incarnation) bool {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var report contract.WorkerReport
	answer, err := r.client.QueryWorkflow(ctx, contract.WorkerWorkflowID(who.ID), "", contract.QueryReport)
	return err == nil && answer.Get(&report) == nil && report.Instance == who.Instance
}

func (r *Registry) register(ctx context.Context, registration contract.WorkerRegistration) (contract.RegisterWorkerResult, error) {
	ctx, cancel := context.WithTimeout(ctx, registerTimeout)
	defer cancel()
	var verdict contract.RegisterWorkerResult
	start := r.client.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID:                       contract.FleetWorkflowID,
		TaskQueue:                contract.ControlQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            contract.FleetSummary,
		StaticDetails:            contract.FleetDetails,
	}, contract.FleetWorkflow, contract.FleetInput{})
	handle, err := r.client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions: client.UpdateWorkflowOptions{
			UpdateName:   contract.UpdateRegisterWorker,
			Args:         []any{registration},
			WaitForStage: client.WorkflowUpdateStageCompleted,
		},
	})
	if err == nil {
		err = handle.Get(ctx, &verdict)
	}
	return verdict, err
}

// Final reports whether an error of Register is final, so that a repetition gets the same error.
func Final(err error) bool {
	var (
		refused *temporal.ApplicationError
		invalid *serviceerror.InvalidArgument
		denied  *serviceerror.PermissionDenied
		unknown *serviceerror.NamespaceNotFound
	)
	return errors.As(err, &refused) || errors.As(err, &invalid) || errors.As(err, &denied) || errors.As(err, &unknown)
}

// Settings returns whether exactly this incarnation is registered, and its settings. A missing registry is no error.
func (r *Registry) Settings(ctx context.Context, who contract.Incarnation) (contract.WorkerSettings, error) {
	var settings contract.WorkerSettings
	err := r.query(ctx, contract.QuerySettings, who, &settings)
	return settings, err
}

// Standing returns the settings of several incarnations. A missing registry gives empty settings.
func (r *Registry) Standing(ctx context.Context, of []contract.Incarnation) ([]contract.WorkerSettings, error) {
	var found contract.StandingResult
	err := r.query(ctx, contract.QueryStanding, contract.StandingInput{Of: of}, &found)
	if err == nil && len(found.Settings) != len(of) {
		found.Settings = make([]contract.WorkerSettings, len(of))
	}
	return found.Settings, err
}

// Workers lists the registered workers. A missing registry has none.
func (r *Registry) Workers(ctx context.Context, filter contract.WorkersQueryInput) (contract.WorkersQueryResult, error) {
	var list contract.WorkersQueryResult
	err := r.query(ctx, contract.QueryWorkers, filter, &list)
	return list, err
}

// A terminated registry must not answer from its history, so query leaves answer unchanged.
func (r *Registry) query(ctx context.Context, name string, in, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, registerTimeout)
	defer cancel()
	response, err := r.client.QueryWorkflowWithOptions(ctx, &client.QueryWorkflowWithOptionsRequest{
		WorkflowID: contract.FleetWorkflowID, QueryType: name, Args: []any{in},
		QueryRejectCondition: enumspb.QUERY_REJECT_CONDITION_NOT_OPEN,
	})
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return nil
	}
	if err != nil || response.QueryRejected != nil {
		return err
	}
	return response.QueryResult.Get(answer)
}

// Unregister makes the worker OFFLINE at once.
func (r *Registry) Unregister(ctx context.Context, who contract.Incarnation) error {
	ctx, cancel := context.WithTimeout(ctx, unregisterTimeout)
	defer cancel()
	return r.client.SignalWorkflow(ctx, contract.FleetWorkflowID, "", contract.SignalUnregisterWorker, who)
}

// Trouble reports a trouble of the worker. It is forgotten unless it is repeated.
func (r *Registry) Trouble(ctx context.Context, in contract.WorkerTroubleInput) error {
	return r.client.SignalWorkflow(ctx, contract.FleetWorkflowID, "", contract.SignalWorkerTrouble, in)
}
