package dag

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/internal/app"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

func (c *commands) runDAGDev(ctx *cli.Context, name string, start func(*starter.Client) (starter.RunRef, error)) (err error) {
	options, done, err := c.dagDevOptions(ctx)
	if err != nil {
		return err
	}
	defer func() { err = done(err) }()
	return app.WithDev(ctx.Context, options, func(running context.Context, dev *app.Dev) error {
		// The port is a free one, and messages of the run name commands for another terminal.
		c.Complain("in another terminal: export TEMPORAL_ADDRESS=%s TEMPORAL_NAMESPACE=%s", dev.Ready.Address, dev.Client.Namespace())
		ref, err := start(dev.Client)
		if err != nil {
			return err
		}
		err = c.follow(running, ctx, dev.Client.Runs(), name, ref)
		switch cause := context.Cause(running); {
		case cause == nil:
			return err
		case ctx.Context.Err() == nil:
			return cause
		}
		return &ui.ExitError{Code: ui.ExitFailed, Err: fmt.Errorf("interrupted: %s ends with the server that was started for it", ref.WorkflowID)}
	})
}

// done removes a temporary data dir, unless a failure left a log to read.
func (c *commands) dagDevOptions(ctx *cli.Context) (options app.DevOptions, done func(error) error, err error) {
	ids, err := ui.WorkerIDs(ctx)
	if err != nil {
		return options, nil, err
	}
	loaded, err := c.WholeSettings(ctx)
	if err != nil {
		return options, nil, err
	}
	// Tasks may run its job types. Their schedules must not, and no other configuration is on this server.
	for name, declared := range loaded.JobTypes {
		declared.Enabled = false
		loaded.JobTypes[name] = declared
	}
	dir, leave, err := dagDevDir(ctx.String(ui.FlagDataDir))
	if err != nil {
		return options, nil, err
	}
	file, err := os.OpenFile(filepath.Join(dir, app.LogFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return options, nil, leave(fmt.Errorf("log file: %w", err))
	}
	options = app.DevOptions{
		DataDir: dir, Workers: ids, Handlers: c.Handlers, Shim: c.Env.Shim, Config: loaded,
		Temporal: config.Temporal{Namespace: loaded.Temporal.Namespace},
		Server:   app.DevServer{TemporalCLI: ctx.String(flagTemporalCLI), Executable: c.Env.Executable, Temporary: ctx.String(ui.FlagDataDir) == ""},
		Logger:   slog.New(slog.NewTextHandler(file, nil)),
		Notify:   func(line string) { fmt.Fprintln(c.Env.Stderr, line) },
	}
	return options, func(err error) error { return leave(errors.Join(err, file.Close())) }, nil
}

// done removes a temporary data dir.
func dagDevDir(given string) (dir string, done func(error) error, err error) {
	if given != "" {
		dir, err = filepath.Abs(given)
		if err == nil {
			err = os.MkdirAll(dir, 0o750)
		}
		if err != nil {
			return "", nil, fmt.Errorf("--data-dir: %w", err)
		}
		return dir, func(err error) error { return err }, nil
	}
	dir, err = os.MkdirTemp("", "roundsman-dag-")
	if err != nil {
		return "", nil, fmt.Errorf("temporary data dir: %w", err)
	}
	return dir, func(err error) error {
		if _, said := errors.AsType[*ui.ExitError](err); err != nil && !said {
			return fmt.Errorf("%w (logs are in %s)", err, dir)
		}
		return errors.Join(err, os.RemoveAll(dir))
	}, nil
}
