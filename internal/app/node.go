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

// ErrIdle is the reason when a worker ended because it had nothing to do.
var ErrIdle = workers.ErrIdle

// NodeOptions describe a node worker's process.
type NodeOptions struct {
	Client *starter.Client
	// ID names the node, whatever process serves it.
	ID string
	// DataDir keeps what must survive a restart of the process.
	DataDir string
	// Labels are what proposals can ask for.
	Labels map[string]string
	// JobTypes restricts the worker; empty: all whose handler it has. Shared
	// lists those whose shared queue it pulls.
	JobTypes, Shared []string
	// MaxDetect and MaxExecute cap what runs at once.
	MaxDetect, MaxExecute int
	// DrainTimeout is how long running jobs continue after a stop; 0: not at all.
	DrainTimeout time.Duration
	// ExitWhenIdle ends the process when it has run nothing for that long; 0: never.
	ExitWhenIdle time.Duration
	// TakeOver replaces a live worker of the same id.
	TakeOver bool
	// Handlers of the binary besides the built-in ones.
	Handlers []jobtype.Handler
	// Shim is the command line of this binary as a shim; empty: it cannot be one.
	Shim []string
	// Health shows how the process is; nil: nobody sees. It must watch Client's
	// connection.
	Health *Health
	Logger *slog.Logger
}

func (o NodeOptions) settings() workers.NodeOptions {
	settings := workers.NodeOptions{
		ID: o.ID, DataDir: o.DataDir, Labels: o.Labels, JobTypes: o.JobTypes, Shared: o.Shared,
		MaxDetect: o.MaxDetect, MaxExecute: o.MaxExecute, DrainTimeout: o.DrainTimeout, TakeOver: o.TakeOver, ExitWhenIdle: o.ExitWhenIdle,
	}
	if o.DrainTimeout == 0 {
		settings.DrainTimeout = -1 // 0 would mean the default
	}
	return settings
}

// Node is a running node worker.
type Node struct {
	*Process

	worker *workers.Node
}

// ID of the worker, which it may have made up itself.
func (n *Node) ID() string { return n.worker.ID() }

// StartNode starts one node worker: the process of `roundsman worker`.
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
		// A node that did not start still holds its claim on the id.
		_ = worker.Stop(context.WithoutCancel(ctx)) // the reason is err
		return nil, err
	}
	return &Node{Process: process, worker: worker}, nil
}

// nodeParts are the worker and what lets others see it.
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
