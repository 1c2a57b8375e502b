package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/fx"

	"github.com/roundsman/roundsman/activities/control"
	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/internal/doctor"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/workers"
)

const startDevWithin = 2 * time.Minute

// devDrain bounds the drain after Ctrl-C; it is short, since a person waits.
const devDrain = 10 * time.Second

// DevOptions configure `roundsman dev`.
type DevOptions struct {
	// DataDir holds the server's database, logs and the workers' journals.
	DataDir string
	// Server configures the Temporal server. With External, Temporal.Address is the server instead.
	Server   DevServer
	Temporal config.Temporal
	External bool
	// Config is applied at the start.
	Config  *config.Config
	Workers []string
	// Handlers in addition to the built-in ones.
	Handlers []jobtype.Handler
	// Shim is the command line of this binary as a shim; empty if it cannot be one.
	Shim []string
	// HTTP serves the API if not nil.
	HTTP   *HTTP
	Logger *slog.Logger
	// Notify receives texts for the operator about events.
	Notify func(string)
}

// Dev is a running `roundsman dev`.
type Dev struct {
	// Client is connected to the server at Ready.
	Client *starter.Client
	Ready  ServerReady
	// Groups by job type that were open when this process started.
	Open map[string]starter.RunRef

	lock    *dirLock
	server  *serverKeeper
	process *Process
	failed  chan error
}

const (
	dbFile = "temporal.db"
	// cliDBFile is the database of Temporal's CLI, which may have another schema and does not check it.
	cliDBFile     = "temporal-cli.db"
	serverLogFile = "devserver.log"
	readyFile     = "devserver.json"
	// LogFile is the log of the processes other than the server.
	LogFile = "roundsman.log"
)

// StartDev locks the data dir, starts or connects to a server, starts the control plane and the workers, and applies
// the configuration. After an error it stops the started parts.
func StartDev(ctx context.Context, options DevOptions) (*Dev, error) {
	lock, err := lockDir(ctx, options.DataDir, lockWait)
	if err != nil {
		return nil, err
	}
	d := &Dev{lock: lock, failed: make(chan error, 1)}
	if err := d.start(ctx, options); err != nil {
		return nil, errors.Join(err, d.Stop(context.WithoutCancel(ctx)))
	}
	return d, nil
}

func (d *Dev) start(ctx context.Context, options DevOptions) error {
	limited, cancel := context.WithTimeout(ctx, startDevWithin)
	defer cancel()
	err := d.startAll(limited, options)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("not everything was up within %s: %w: see %s", startDevWithin, err, filepath.Join(options.DataDir, LogFile))
	}
	return err
}

func (d *Dev) startAll(ctx context.Context, options DevOptions) error {
	if err := d.connect(ctx, options); err != nil {
		return err
	}
	if !options.External {
		if err := doctor.EnsureSearchAttributes(ctx, d.Client); err != nil {
			return err
		}
	}
	if err := requireServer(ctx, d.Client, options.Logger); err != nil {
		return err
	}
	if err := d.findOpen(ctx, options.Config); err != nil {
		return err
	}
	if err := d.run(ctx, options); err != nil {
		return err
	}
	return d.apply(ctx, options)
}

func (d *Dev) connect(ctx context.Context, options DevOptions) error {
	settings := options.Temporal
	if options.External {
		d.Ready = ServerReady{Address: settings.Address}
	} else {
		server := options.Server
		server.DBFile = filepath.Join(options.DataDir, dbFile)
		if server.TemporalCLI != "" {
			server.DBFile = filepath.Join(options.DataDir, cliDBFile)
		}
		server.LogFile = filepath.Join(options.DataDir, serverLogFile)
		server.ReadyFile = filepath.Join(options.DataDir, readyFile)
		server.Namespace = settings.Namespace
		keeper, err := startServer(ctx, server, options.Logger, options.Notify)
		if err != nil {
			return err
		}
		d.server, d.Ready = keeper, keeper.Ready()
		go d.passOn(keeper.failed, keeper.done)
		settings = config.Temporal{Address: d.Ready.Address, Namespace: settings.Namespace}
	}
	dialing, err := ClientOptions(settings)
	if err != nil {
		return err
	}
	dialing.Logger = options.Logger
	dialing.HeartbeatInterval = options.Config.Fleet.HeartbeatInterval.Std()
	options.HTTP.Watch(&dialing)
	if err := WatchRuns(&dialing, nil, options.Logger); err != nil {
		return err
	}
	d.Client, err = starter.Dial(ctx, dialing)
	return err
}

func (d *Dev) run(ctx context.Context, options DevOptions) error {
	// All nodes share the handlers, since they run on the same machine.
	handlers, err := Handlers(options.DataDir, options.Shim, options.Handlers)
	if err != nil {
		return err
	}
	nodes := make([]*workers.Node, 0, len(options.Workers))
	budget := devDrain
	for _, id := range options.Workers {
		dir := filepath.Join(options.DataDir, "nodes", id)
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return fmt.Errorf("data dir: %w", err)
		}
		// All nodes stop together, so none can send its jobs to another.
		node, err := newNode(d.Client, workers.NodeOptions{ID: id, DataDir: dir, DrainTimeout: devDrain, Linger: -1}, handlers, options.Logger)
		if err != nil {
			return errors.Join(err, stopAll(ctx, nodes))
		}
		budget = max(budget, node.StopBudget())
		nodes = append(nodes, node)
	}
	process, err := start(ctx, budget, options.Logger,
		fx.Supply(d.Client, options.Logger, options.Config.Fleet, options.Config.Audit, options.Config.Retention, options.Config.Notify, shimLine(options.Shim)), controlModule(),
		fx.Provide(func(plane *workers.Control, activities *control.Control) parts {
			all := append(controlParts(plane, activities, d.Client.Connection().Address, options.Logger), sweeperParts(newSweeper(d.Client, options.Config.Retention, options.Logger))...)
			all = append(all, pageParts(d.Client, options.Logger)...)
			all = append(all, together("workers", nodes))
			return append(all, options.HTTP.parts(d.Client, options.Logger)...)
		}))
	if err != nil {
		return errors.Join(err, stopAll(ctx, nodes))
	}
	d.process = process
	go d.passOn(process.Failed(), process.watching.Done())
	return nil
}

// A group that ends during the start would otherwise count as an old one.
func (d *Dev) findOpen(ctx context.Context, loaded *config.Config) error {
	d.Open = map[string]starter.RunRef{}
	for name := range loaded.JobTypes {
		ticks, err := jobtypes.Of(d.Client).Ticks(ctx, name)
		switch {
		case errors.Is(err, starter.ErrNotFound):
		case err != nil:
			return err
		case ticks.Running != nil:
			d.Open[name] = *ticks.Running
		}
	}
	return nil
}

func stopAll(ctx context.Context, nodes []*workers.Node) error {
	if len(nodes) == 0 {
		return nil
	}
	return together("workers", nodes).Stop(context.WithoutCancel(ctx))
}

func (d *Dev) apply(ctx context.Context, options DevOptions) error {
	loaded := options.Config
	loaded.Owner = cmp.Or(loaded.Owner, jobtypes.DevOwner) // Else the job types that others applied without an owner would be deleted.
	specs, err := loaded.Specs()
	if err != nil {
		return err
	}
	plan, err := jobtypes.Of(d.Client).PlanAs(ctx, loaded.Owner, specs, loaded.Enabled())
	if err != nil {
		return err
	}
	if options.External {
		if plan, err = amongOthers(plan, loaded.Owner, options.Notify); err != nil {
			return err
		}
	}
	_, err = jobtypes.Of(d.Client).Apply(ctx, plan)
	return err
}

// amongOthers is plan for a server that others use, too. It deletes nothing, and a job type without a known owner is theirs.
func amongOthers(plan jobtypes.Plan, owner string, tell func(string)) (jobtypes.Plan, error) {
	var faults []error
	for _, change := range plan.Changes {
		for _, field := range change.Fields {
			switch {
			case field.Path == "owner" && field.Before == "":
				faults = append(faults, fmt.Errorf("job type %s is on this server already, without an owner: rename it here, or change it with `roundsman apply`", change.JobType))
			case field.Path == jobtypes.PathInput:
				faults = append(faults, fmt.Errorf("job type %s is on this server already, and its settings cannot be read, so its owner is unknown: rename it here, or repair it with `roundsman apply`", change.JobType))
			}
		}
	}
	if len(faults) > 0 {
		return plan, errors.Join(faults...)
	}
	for _, change := range plan.Deletions() {
		tell(fmt.Sprintf("job type %s is kept, which the configuration lacks: `roundsman apply --prune` with `owner: %s` deletes it", change.JobType, owner))
	}
	return plan.Keep(), nil
}

func (d *Dev) passOn(reasons <-chan error, done <-chan struct{}) {
	select {
	case err := <-reasons:
		d.fail(err)
	case <-done:
		select {
		case err := <-reasons:
			d.fail(err)
		default:
		}
	}
}

func (d *Dev) fail(err error) {
	select {
	case d.failed <- err:
	default: // The first reason is reported.
	}
}

// Failed returns a channel with the error of a part that ended and could not be restarted.
func (d *Dev) Failed() <-chan error { return d.failed }

// Stop drains the workers, then stops the control plane and the server. The Schedules stay.
func (d *Dev) Stop(ctx context.Context) error {
	var faults []error
	if d.process != nil {
		faults = append(faults, d.process.Stop(ctx))
	}
	if d.Client != nil {
		d.Client.Close()
	}
	if d.server != nil {
		faults = append(faults, d.server.Stop())
	}
	return errors.Join(append(faults, d.lock.release())...)
}

// WithDev runs action on the processes. Its context ends with the cause when one fails.
func WithDev(ctx context.Context, options DevOptions, action func(context.Context, *Dev) error) (err error) {
	dev, err := StartDev(ctx, options)
	if err != nil {
		return err
	}
	defer func() {
		if stopErr := dev.Stop(context.WithoutCancel(ctx)); stopErr != nil && err == nil {
			err = stopErr
		}
	}()
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case reason := <-dev.Failed():
			cancel(reason)
		case <-running.Done():
		}
	}()
	return action(running, dev)
}
