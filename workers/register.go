package workers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/registry"
)

const (
	registerRetry     = time.Second
	unregisterRetry   = 200 * time.Millisecond
	unregisterTimeout = 2 * time.Second
)

// RefusedError is returned when another live worker holds the id.
type RefusedError struct {
	ID   string
	Host string
	PID  int
	// Age is the time since its registration, SinceBeat the upper bound of the time since its heartbeat.
	Age, SinceBeat time.Duration
	// Stale means that its heartbeats are late, but its process answers.
	Stale bool
}

// Error returns the cause and the remedies.
func (e *RefusedError) Error() string {
	but, wait := "", "wait until it is stale, "
	if e.Stale {
		but, wait = ", and it answers", ""
	}
	return fmt.Sprintf("worker id %q is held by process %d on host %s, registered %s ago, last heartbeat at most %s ago%s: "+
		"stop that process, choose another --id, %sor start with --take-over to fence it",
		e.ID, e.PID, e.Host, e.Age.Round(time.Second), e.SinceBeat.Round(time.Second), but, wait)
}

type registrar struct {
	registry     *registry.Registry
	registration contract.WorkerRegistration
	// dead are ended incarnations of this id, whose lock this process has; a registration need not wait for them.
	dead []string
	// introduced means that a registration was sent and not refused, even if its answer was not awaited.
	introduced atomic.Bool
	wait       func(ctx context.Context, d time.Duration) error
	warn       func(message string, args ...any)
}

// register retries until the registry answers: with settings, or with a [*RefusedError].
func (r *registrar) register(ctx context.Context, takeOver bool) (contract.WorkerSettings, error) {
	var settings contract.WorkerSettings
	registration := r.registration
	registration.TakeOver = takeOver
	for {
		r.introduced.Store(true)
		verdict, err := r.registry.Register(ctx, registration, r.dead...)
		switch {
		case err == nil && verdict.Accepted:
			if verdict.Settings != nil {
				settings = *verdict.Settings
			}
			return settings, nil
		case err == nil:
			r.introduced.Store(false)
			return settings, refused(registration.ID, verdict)
		case registry.Final(err):
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

func refused(id string, verdict contract.RegisterWorkerResult) error {
	e := &RefusedError{ID: id, Host: "unknown", Stale: verdict.Stale}
	if other := verdict.Refused; other != nil {
		e.Host, e.PID = other.Host, other.PID
		e.Age, e.SinceBeat = other.Age.Std(), other.SinceBeat.Std()
	}
	return e
}

func (r *registrar) settings(ctx context.Context) (contract.WorkerSettings, error) {
	return r.registry.Settings(ctx, r.incarnation())
}

func (r *registrar) unregister(ctx context.Context) error {
	return r.registry.Unregister(ctx, r.incarnation())
}

func (r *registrar) incarnation() contract.Incarnation {
	return contract.Incarnation{ID: r.registration.ID, Instance: r.registration.Instance}
}

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
		registration.Capabilities = append(registration.Capabilities, contract.CapabilityOf(descriptor))
	}
	return registration
}
