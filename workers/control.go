package workers

import (
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

// DefaultControlStopTimeout is how long control activities may continue after the
// control plane was asked to stop. They are repeated elsewhere.
const DefaultControlStopTimeout = 5 * time.Second

// DefaultEager is what every server takes.
const DefaultEager = 40

// deadlockTimeout is how long one workflow task may compute without yielding.
// The SDK's second is passed by code that does nothing wrong when a busy machine
// decodes the state of a large group or fleet; the task would fail and be
// repeated under the same load.
const deadlockTimeout = 5 * time.Second

// Bounds of the pollers for workflow tasks, for each of the two queues that they poll.
const (
	minWorkflowPollers = 4
	maxWorkflowPollers = 16
)

// ControlOptions describe one process of the control plane.
type ControlOptions struct {
	// Register registers workflows and control activities; each function is
	// called once.
	Register []func(worker.Registry)
	// StickyCacheSize bounds how many workflows are kept in memory between
	// their tasks. It is a setting of the whole process; 0 keeps the SDK's
	// 10,000, negative keeps none, which is for tests of determinism.
	StickyCacheSize int
	// MaxWorkflowTasks caps workflow tasks at once; 0: the SDK's default.
	MaxWorkflowTasks int
	// Eager is how many activities of the control plane's own queue one workflow
	// task may start at once in this process, past the queue: at a third of the
	// cost. Default DefaultEager; negative: none. More than about 40 need a server
	// with history.maximumBufferedEventsBatch above its stock 100, as `roundsman
	// dev` has; another one fails workflow tasks then and sends whole histories
	// again.
	Eager int
	// StopTimeout defaults to DefaultControlStopTimeout.
	StopTimeout time.Duration
	// Identity is what Temporal shows; empty: the client's.
	Identity string
	// Version is noted with every workflow task that this process completes, so that
	// it can be told which version began a workflow that another cannot continue with.
	// Empty: the SDK notes a checksum of the program.
	Version string
	// Interceptors are those that the workflows need.
	Interceptors []interceptor.WorkerInterceptor
	// Logger defaults to none.
	Logger *slog.Logger
}

// WithDefaults fills what is empty.
func (o ControlOptions) WithDefaults() ControlOptions {
	if o.StopTimeout == 0 {
		o.StopTimeout = DefaultControlStopTimeout
	}
	if o.Eager == 0 {
		o.Eager = DefaultEager
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Validate reports every fault at once.
func (o ControlOptions) Validate() error {
	var faults []error
	if len(o.Register) == 0 {
		faults = append(faults, errors.New("the control plane has no workflows: pass workflows.Register"))
	}
	if o.StopTimeout < 0 || o.MaxWorkflowTasks < 0 {
		faults = append(faults, errors.New("stop timeout and max workflow tasks must not be negative"))
	}
	return errors.Join(faults...)
}

// Control is one process of the control plane: it runs all workflows and the
// control activities. Several may run at once; Temporal spreads the work.
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
	if options.StickyCacheSize != 0 {
		worker.SetStickyWorkflowCacheSize(max(options.StickyCacheSize, 0))
	}
	control := &Control{options: options, failed: make(chan error, 1)}
	control.worker = worker.New(c, contract.ControlQueue, worker.Options{
		DisableEagerActivities:                      options.Eager < 0,
		MaxEagerActivityReservationsPerWorkflowTask: eager(options.Eager),
		Identity:                               options.Identity,
		BuildID:                                options.Version, //nolint:staticcheck // its successor, DeploymentOptions, comes with routing by version, which is not wanted
		Interceptors:                           options.Interceptors,
		MaxConcurrentWorkflowTaskExecutionSize: options.MaxWorkflowTasks,
		WorkerStopTimeout:                      options.StopTimeout,
		DeadlockDetectionTimeout:               deadlockTimeout,
		WorkflowTaskPollerBehavior:             workflowPollers(),
		OnFatalError: func(err error) {
			select {
			case control.failed <- err:
			default: // The first reason is the one to tell.
			}
		},
	})
	for _, register := range options.Register {
		register(control.worker)
	}
	return control, nil
}

// workflowPollers take the workflow tasks and queries of all workflows. The SDK's two
// let tasks of the registry wait for more than the 5 s that the server allows.
func workflowPollers() worker.PollerBehavior {
	return worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{
		InitialNumberOfPollers: minWorkflowPollers, MinimumNumberOfPollers: minWorkflowPollers, MaximumNumberOfPollers: maxWorkflowPollers,
	})
}

// eager is nil where the SDK's own, which must be positive, does not matter.
func eager(n int) *int {
	if n < 0 {
		return nil
	}
	return &n
}

// Start begins to poll.
func (c *Control) Start(context.Context) error {
	if err := c.worker.Start(); err != nil {
		return fmt.Errorf("control plane: %w", err)
	}
	c.options.Logger.Info("control plane is polling", "queue", contract.ControlQueue)
	return nil
}

// Wait returns nil when ctx ends, and an error when the server refuses the
// control plane for good.
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

// Stop stops polling and waits for what runs, at most StopTimeout. Repeating it
// does nothing.
func (c *Control) Stop(context.Context) error {
	c.stopOnce.Do(c.worker.Stop)
	return nil
}
