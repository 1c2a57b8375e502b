package workers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/roundsman/roundsman/contract"
)

// ControlStopTimeout bounds control activities after a stop. They are repeated elsewhere.
const ControlStopTimeout = 5 * time.Second

// DefaultEager is accepted by every server.
const DefaultEager = 40

// deadlockTimeout bounds a workflow task without a yield. The SDK's second is too short for a busy machine that
// decodes the state of a large group or fleet.
const deadlockTimeout = 5 * time.Second

// Bounds of the pollers for workflow tasks, per queue; there are two queues.
const (
	minWorkflowPollers = 4
	maxWorkflowPollers = 16
)

// ControlOptions describe one process of the control plane.
type ControlOptions struct {
	// Register registers workflows and control activities; each function is called once.
	Register []func(worker.Registry)
	// Eager bounds the control activities that one workflow task may start directly in this process, at a third of
	// the cost. More than about 40 require a server with history.maximumBufferedEventsBatch above its default 100, as
	// `roundsman dev` has. Other servers then fail workflow tasks and send whole histories again.
	Eager int
	// Version is recorded with every workflow task. If empty, the SDK records a checksum of the program.
	Version      string
	Interceptors []interceptor.WorkerInterceptor
	Logger       *slog.Logger
}

// WithDefaults fills empty fields.
func (o ControlOptions) WithDefaults() ControlOptions {
	o.Eager = cmp.Or(o.Eager, DefaultEager)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

// Validate reports missing workflows.
func (o ControlOptions) Validate() error {
	if len(o.Register) == 0 {
		return errors.New("the control plane has no workflows: pass workflows.Register")
	}
	return nil
}

// Control is one process of the control plane. Several may run at once; Temporal distributes the work.
type Control struct {
	worker   worker.Worker
	options  ControlOptions
	failed   chan error
	stopOnce sync.Once
}

// NewControl builds the control plane on c, which must outlive it.
func NewControl(c client.Client, options ControlOptions) (*Control, error) {
	options = options.WithDefaults()
	if err := options.Validate(); err != nil {
		return nil, fmt.Errorf("control plane: %w", err)
	}
	control := &Control{options: options, failed: make(chan error, 1)}
	control.worker = worker.New(c, contract.ControlQueue, worker.Options{
		MaxEagerActivityReservationsPerWorkflowTask: &options.Eager,

		BuildID:                    options.Version, //nolint:staticcheck // its successor, DeploymentOptions, comes with routing by version, which is not wanted
		Interceptors:               options.Interceptors,
		WorkerStopTimeout:          ControlStopTimeout,
		DeadlockDetectionTimeout:   deadlockTimeout,
		WorkflowTaskPollerBehavior: workflowPollers(),
		OnFatalError: func(err error) {
			select {
			case control.failed <- err:
			default: // The first reason is reported.
			}
		},
	})
	for _, register := range options.Register {
		register(control.worker)
	}
	return control, nil
}

// With the SDK's two pollers, tasks of the registry waited for more than the 5 s that the server allows.
func workflowPollers() worker.PollerBehavior {
	return worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{
		InitialNumberOfPollers: minWorkflowPollers, MinimumNumberOfPollers: minWorkflowPollers, MaximumNumberOfPollers: maxWorkflowPollers,
	})
}

// Start begins to poll.
func (c *Control) Start(context.Context) error {
	if err := c.worker.Start(); err != nil {
		return fmt.Errorf("control plane: %w", err)
	}
	c.options.Logger.Info("control plane is polling", "queue", contract.ControlQueue)
	return nil
}

// Wait returns nil when ctx ends, and an error when the server rejects the control plane for good.
func (c *Control) Wait(ctx context.Context) error {
	select {
	case err := <-c.failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

// Run starts, works until ctx ends, and stops.
func (c *Control) Run(ctx context.Context) error {
	err := c.Start(ctx)
	if err == nil {
		err = c.Wait(ctx)
	}
	return errors.Join(err, c.Stop(context.WithoutCancel(ctx)))
}

// Stop stops polling and waits for running work, at most [ControlStopTimeout]. A repeat does nothing.
func (c *Control) Stop(context.Context) error {
	c.stopOnce.Do(c.worker.Stop)
	return nil
}
