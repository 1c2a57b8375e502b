package workers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// Pace of talking to the registry.
const (
	registerTimeout   = 10 * time.Second
	registerRetry     = time.Second
	unregisterTimeout = 2 * time.Second
	unregisterRetry   = 200 * time.Millisecond
)

// RefusedError is returned when another live worker holds the id.
type RefusedError struct {
	ID   string
	Host string
	PID  int
	// Age is how long the other has been registered, SinceBeat how long ago it
	// last gave a sign of life.
	Age, SinceBeat time.Duration
}

// Error implements error and says what to do.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("worker id %q is held by process %d on host %s, registered %s ago, last heartbeat %s ago: "+
		"stop that process, choose another --id, wait until it is stale, or start with --take-over to fence it",
		e.ID, e.PID, e.Host, e.Age.Round(time.Second), e.SinceBeat.Round(time.Second))
}

// registrar speaks for one worker with the fleet's registry.
type registrar struct {
	client       client.Client
	registration contract.WorkerRegistration
	// dead are incarnations of this id that are known to have ended; they need
	// not be waited for.
	dead []string
	// introduced: the registry may hold this incarnation, because it was asked for
	// the id and did not refuse it. An answer that was not waited for counts.
	introduced atomic.Bool
	wait       func(ctx context.Context, d time.Duration) error
	warn       func(message string, args ...any)
}

// register asks until the registry answers: settings when accepted, a
// [*RefusedError] when not. It waits for a control plane that is not up yet.
func (r *registrar) register(ctx context.Context, takeOver bool) (contract.WorkerSettings, error) {
	var settings contract.WorkerSettings
	registration := r.registration
	registration.TakeOver = takeOver
	for {
		r.introduced.Store(true)
		verdict, err := r.ask(ctx, registration)
		switch {
		case err == nil && verdict.Accepted:
			if verdict.Settings != nil {
				settings = *verdict.Settings
			}
			return settings, nil
		case err == nil:
			other := verdict.Refused
			if other != nil && slices.Contains(r.dead, other.Instance) && !registration.TakeOver {
				// The lock of the dead process is ours: no live process is fenced.
				registration.TakeOver = true
				continue
			}
			r.introduced.Store(false)
			return settings, refused(registration.ID, other)
		case isFinal(err):
			return settings, fmt.Errorf("register worker %s: %w", registration.ID, err)
		}
		if ctx.Err() != nil {
			return settings, fmt.Errorf("register worker %s: %w: is the control plane (`roundsman server`) running?",
				registration.ID, errors.Join(context.Cause(ctx), err))
		}
		r.warn("the registry does not answer, asking again; is the control plane running?", "error", err)
		if err := r.wait(ctx, registerRetry); err != nil {
			return settings, fmt.Errorf("register worker %s: %w", registration.ID, err)
		}
	}
}

// isFinal tells a refusal to take the registration at all from an absence.
func isFinal(err error) bool {
	var (
		refused *temporal.ApplicationError
		invalid *serviceerror.InvalidArgument
		denied  *serviceerror.PermissionDenied
		unknown *serviceerror.NamespaceNotFound
	)
	return errors.As(err, &refused) || errors.As(err, &invalid) || errors.As(err, &denied) || errors.As(err, &unknown)
}

func refused(id string, other *contract.RegisteredOther) error {
	e := &RefusedError{ID: id, Host: "unknown"}
	if other != nil {
		e.Host, e.PID = other.Host, other.PID
		e.Age, e.SinceBeat = other.Age.Std(), other.SinceBeat.Std()
	}
	return e
}

// ask sends the registration, creating the registry if there is none.
func (r *registrar) ask(ctx context.Context, registration contract.WorkerRegistration) (contract.RegisterWorkerResult, error) {
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

// settings asks whether exactly this incarnation is registered, and for what it
// has to know. A registry that does not answer is no reason to register again;
// one that is gone is.
func (r *registrar) settings(ctx context.Context) (contract.WorkerSettings, error) {
	ctx, cancel := context.WithTimeout(ctx, registerTimeout)
	defer cancel()
	var settings contract.WorkerSettings
	// A registry that was terminated must not answer from its history.
	answer, err := r.client.QueryWorkflowWithOptions(ctx, &client.QueryWorkflowWithOptionsRequest{
		WorkflowID: contract.FleetWorkflowID, QueryType: contract.QuerySettings,
		Args:                 []any{contract.KnownInput{ID: r.registration.ID, Instance: r.registration.Instance}},
		QueryRejectCondition: enumspb.QUERY_REJECT_CONDITION_NOT_OPEN,
	})
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return settings, nil
	}
	if err != nil || answer.QueryRejected != nil {
		return settings, err
	}
	return settings, answer.QueryResult.Get(&settings)
}

// unregister deregisters the worker. Without it the registry notices by
// the missing heartbeat.
func (r *registrar) unregister(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, unregisterTimeout)
	defer cancel()
	return r.client.SignalWorkflow(ctx, contract.FleetWorkflowID, "", contract.SignalUnregisterWorker,
		contract.UnregisterWorkerInput{ID: r.registration.ID, Instance: r.registration.Instance})
}

// registrationOf describes the worker.
func registrationOf(o NodeOptions, id, instance string) contract.WorkerRegistration {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	registration := contract.WorkerRegistration{
		ID: id, Instance: instance, Host: host, PID: os.Getpid(), Version: o.Version, Labels: o.Labels,
		JobTypes: o.JobTypes, Shared: o.Shared, MaxDetect: o.MaxDetect, MaxExecute: o.MaxExecute,
	}
	for _, handler := range o.Handlers {
		descriptor := handler.Descriptor()
		registration.Capabilities = append(registration.Capabilities, capability(descriptor))
	}
	return registration
}

func capability(d jobtype.Descriptor) contract.Capability {
	return contract.Capability{
		Handler: d.Name, Detect: !d.ExecuteOnly, Execute: !d.DetectOnly,
		MaxDetect: d.MaxDetectConcurrency, MaxExecute: d.MaxExecuteConcurrency, Descriptor: &d,
	}
}
