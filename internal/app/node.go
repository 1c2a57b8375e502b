package app

import (
	"context"
	"log/slog"
	"time"

	"go.uber.org/fx"

	"github.com/roundsman/roundsman/internal/lib/buildinfo"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/workers"
)

// Defaults of [NodeOptions].
const (
	DefaultMaxDetect    = workers.DefaultMaxDetect
	DefaultMaxExecute   = workers.DefaultMaxExecute
	DefaultDrainTimeout = workers.DefaultDrainTimeout
)

// ErrIdle is the reason of a worker that ended because it had no work.
var ErrIdle = workers.ErrIdle

// NodeOptions configure a node worker's process.
type NodeOptions struct {
	Client *starter.Client
	// ID names the node; its processes share it.
	ID string
	// DataDir holds the data that must survive a restart.
	DataDir string
	// Labels can be required by proposals.
	Labels map[string]string
	// JobTypes restricts the worker; empty allows all. Shared lists the polled shared queues.
	JobTypes, Shared []string
	// MaxDetect and MaxExecute bound the parallel work.
	MaxDetect, MaxExecute int
	// DrainTimeout is how long running jobs continue after a stop; 0 means not at all.
	DrainTimeout time.Duration
	// ExitWhenIdle ends the process after this time without work; 0 means never.
	ExitWhenIdle time.Duration
	// TakeOver replaces a live worker with the same id.
	TakeOver bool
	// Handlers in addition to the built-in ones.
	Handlers []jobtype.Handler
	// Shim is the command line of this binary as a shim; empty if it cannot be one.
	Shim []string
	// Health serves the state of the process if not nil. It must watch Client's connection.
	Health *Health
	Logger *slog.Logger
}

func (o NodeOptions) settings() workers.NodeOptions {
	settings := workers.NodeOptions{
		ID: o.ID, DataDir: o.DataDir, Labels: o.Labels, JobTypes: o.JobTypes, Shared: o.Shared,
		MaxDetect: o.MaxDetect, MaxExecute: o.MaxExecute, DrainTimeout: o.DrainTimeout, TakeOver: o.TakeOver, ExitWhenIdle: o.ExitWhenIdle,
	}
	if o.DrainTimeout == 0 {
		settings.DrainTimeout = -1 // 0 would mean the default.
	}
	return settings
}

// Node is a running node worker.
type Node struct {
	*Process

	worker *workers.Node
}

// ID returns the worker's id, which may be generated.
func (n *Node) ID() string { return n.worker.ID() }

// StartNode starts one node worker, for `roundsman worker`.
func StartNode(ctx context.Context, options NodeOptions) (*Node, error) {
	handlers, err := Handlers(options.DataDir, options.Shim, options.Handlers)
	if err != nil {
		return nil, err
	}
	if err := checkNode(ctx, options, handlers); err != nil {
		return nil, err
	}
	worker, err := newNode(options.Client, options.settings(), handlers, options.Logger)
	if err != nil {
		return nil, err
	}
	var process *Process
	all, err := nodeParts(options, worker)
	if err == nil {
		process, err = start(ctx, worker.StopBudget(), options.Logger, fx.Supply(options.Logger, all))
	}
	if err != nil {
		// A node that did not start still claims the id.
		_ = worker.Stop(context.WithoutCancel(ctx)) // The reason is in err.
		return nil, err
	}
	return &Node{Process: process, worker: worker}, nil
}

func nodeParts(options NodeOptions, worker *workers.Node) (parts, error) {
	all := parts{{"worker " + worker.ID(), worker}}
	if options.Health == nil {
		return all, nil
	}
	if err := options.Health.told.Add(newNodeMetrics(worker)); err != nil {
		return nil, err
	}
	return append(options.Health.parts(options.Health.nodeChecks(worker), options.Logger), all...), nil
}

func newNode(client *starter.Client, settings workers.NodeOptions, handlers []jobtype.Handler, logger *slog.Logger) (*workers.Node, error) {
	settings.Handlers, settings.Version, settings.Logger = handlers, buildinfo.Label(), logger
	settings.Namespace, settings.HeartbeatInterval = client.Namespace(), client.HeartbeatInterval()
	return workers.NewNode(client.Temporal(), settings)
}
