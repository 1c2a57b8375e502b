package dev

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/app"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/buildinfo"
	"github.com/roundsman/roundsman/jobtype"
)

func logger(ctx *cli.Context, w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(ctx.String(ui.FlagLogLevel))); err != nil {
		return nil, ui.Usagef("--log-level %s: must be debug, info, warn or error", ctx.String(ui.FlagLogLevel))
	}
	options := &slog.HandlerOptions{Level: level}
	switch format := ctx.String(ui.FlagLogFormat); format {
	case "text", "":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	default:
		return nil, ui.Usagef("--log-format %s: must be text or json", format)
	}
}

type process interface {
	Failed() <-chan error
	Stop(context.Context) error
}

// serve works until ctx ends or the process fails, then drains.
func serve(ctx context.Context, logger *slog.Logger, running process) error {
	var reason error
	select {
	case <-ctx.Done():
		logger.Info("stopping: running work may end or is handed back; a second signal ends at once")
	case reason = <-running.Failed():
		if errors.Is(reason, app.ErrIdle) {
			logger.Info("stopping", "reason", reason)
			reason = nil
		} else {
			logger.Error("stopping", "reason", reason)
		}
	}
	if err := running.Stop(context.WithoutCancel(ctx)); err != nil && reason == nil {
		reason = err
	}
	return reason
}

func (c *commands) serverCommand() *cli.Command {
	return &cli.Command{
		Name: "server", Usage: "run the control plane",
		Description: `It keeps nothing on disk; several may run at once. It needs a Temporal server and refuses one
that lacks what Roundsman needs, with the remedy. --http serves the console, the API (roundsman api openapi prints its
document) and workers in any language. roundsman gateway http serves these workers alone.

Examples:
  roundsman server --address temporal.example.com:7233 --namespace maintenance
  roundsman server --config /etc/roundsman/roundsman.yaml --log-format json
  roundsman server --http 8080`,
		Flags: ui.With(append([]cli.Flag{
			&cli.StringFlag{Name: flagHTTP, Usage: "serve the API at `[HOST:]PORT`; a port alone means 127.0.0.1 (default: not at all)"},
			healthFlag(),
		}, ui.LogFlags()...)...),
		Action: func(ctx *cli.Context) error {
			log, served, srv, err := c.connectHTTP(ctx, flagHTTP)
			if err != nil {
				return err
			}
			defer srv.Client.Close()
			control, err := app.StartControl(ctx.Context, app.ControlOptions{
				Client: srv.Client, Fleet: srv.Settings.Fleet, Audit: srv.Settings.Audit, Retention: srv.Settings.Retention, Notify: srv.Settings.Notify, Health: srv.Health, HTTP: served, Shim: c.Env.Shim, Logger: log,
			})
			if err != nil {
				return err
			}
			log.Info("the control plane serves", "namespace", srv.Client.Namespace(), "version", buildinfo.Version())
			return serve(ctx.Context, log, control)
		},
	}
}

// checkWorker refuses `worker` typed for `workers`: on a terminal a worker needs its id.
func (c *commands) checkWorker(ctx *cli.Context) error {
	if c.Env.Interactive && !ctx.IsSet("id") {
		return ui.Usagef("worker starts a process on this machine and needs --id on a terminal; to list workers: `roundsman workers`")
	}
	for _, name := range []string{flagMaxDetect, flagMaxExecute} {
		if n := ctx.Int(name); ctx.IsSet(name) && (n < 1 || n > contract.MaxWorkerCap) {
			return ui.Usagef("--%s %d: must be between 1 and %d; to run nothing there, cordon the worker", name, n, contract.MaxWorkerCap)
		}
	}
	return nil
}

func (c *commands) workerCommand() *cli.Command {
	return &cli.Command{
		Name: "worker", Usage: "run a worker process on this machine",
		Description: `The id names the node, not the process: it stays the same over restarts. A second live worker of
the same id is refused.

Examples:
  roundsman worker --id node-a --data-dir /var/lib/roundsman
  roundsman worker --id node-b --labels rack=7,disk=ssd --max-execute 8
  roundsman worker --id node-c --job-types scrub,compress_logs --config roundsman.yaml`,
		Flags: ui.With(append([]cli.Flag{
			&cli.StringFlag{Name: "id", Usage: "`NAME` of this worker: a-z, 0-9, _ and - (default: the host's name)"},
			&cli.StringFlag{Name: "labels", Usage: "`KEY=VALUE,...` for proposals to select by"},
			&cli.IntFlag{Name: flagMaxDetect, Usage: "at most `N` detections at once", Value: app.DefaultMaxDetect},
			&cli.IntFlag{Name: flagMaxExecute, Usage: "at most `N` jobs at once", Value: app.DefaultMaxExecute},
			&cli.StringFlag{Name: "job-types", Usage: "serve only these job types, `NAME,...` (default: all whose handler it has)"},
			&cli.StringFlag{Name: "shared", Hidden: true, Usage: "also pull the shared queues of these job types, `NAME,...` (those with routing: shared)"},
			&cli.StringFlag{Name: ui.FlagDataDir, Usage: "keep the state in `DIR`", Value: ".roundsman"},
			&cli.DurationFlag{Name: "drain-timeout", Usage: "let running jobs continue for `DURATION` after a signal to stop", Value: app.DefaultDrainTimeout},
			&cli.DurationFlag{Name: "exit-when-idle", Hidden: true, Usage: "end, with exit code 0, when nothing has run for `DURATION` (default: never)"},
			&cli.BoolFlag{Name: "take-over", Usage: "replace a live worker of the same id, which is fenced"},
			healthFlag(),
		}, ui.LogFlags()...)...),
		Before: c.checkWorker,
		Action: c.runWorker,
	}
}

func (c *commands) connect(ctx *cli.Context) (*slog.Logger, ui.Serving, error) {
	log, err := logger(ctx, c.Env.Stderr)
	if err != nil {
		return nil, ui.Serving{}, err
	}
	srv, err := c.ConnectServing(ctx, log, nil)
	return log, srv, err
}

func (c *commands) connectHTTP(ctx *cli.Context, flag string) (*slog.Logger, *app.HTTP, ui.Serving, error) {
	log, err := logger(ctx, c.Env.Stderr)
	if err != nil {
		return nil, nil, ui.Serving{}, err
	}
	loaded, err := c.Settings(ctx)
	if err != nil {
		return nil, nil, ui.Serving{}, err
	}
	served, err := app.NewHTTP(ctx.String(flag), c.Operator(), loaded.Access)
	if err != nil {
		return nil, nil, ui.Serving{}, ui.Faulty(err)
	}
	if served != nil {
		served.Handlers = c.Handlers
	}
	srv, err := c.ConnectServing(ctx, log, served)
	return log, served, srv, err
}

const (
	flagHTTP       = "http"
	flagMaxDetect  = "max-detect"
	flagMaxExecute = "max-execute"
)

// healthFlag is on the commands that serve in production.
func healthFlag() cli.Flag {
	return &cli.StringFlag{
		Name:  ui.FlagHealthAddr,
		Usage: "serve /healthz, /readyz, /metrics and, on loopback, /debug/pprof/ at `[HOST:]PORT`; a port alone means 127.0.0.1",
	}
}

func (c *commands) runWorker(ctx *cli.Context) error {
	settings, err := nodeOptions(ctx)
	if err != nil {
		return err
	}
	log, srv, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer srv.Client.Close()
	settings.Client, settings.Health, settings.Logger = srv.Client, srv.Health, log
	settings.Handlers, settings.Shim = c.Handlers, c.Env.Shim
	node, err := app.StartNode(ctx.Context, settings)
	if err != nil {
		return err
	}
	log.Info("the worker serves", "worker", node.ID(), "namespace", srv.Client.Namespace(), "version", buildinfo.Label())
	return serve(ctx.Context, log, node)
}

func nodeOptions(ctx *cli.Context) (app.NodeOptions, error) {
	labels, err := parseLabels(ctx.String("labels"))
	if err != nil {
		return app.NodeOptions{}, err
	}
	id := cmp.Or(ctx.String("id"), hostID())
	if err := jobtype.ValidateName(id); err != nil {
		return app.NodeOptions{}, ui.Usagef("--id: %w", err)
	}
	dir, err := filepath.Abs(ctx.String(ui.FlagDataDir))
	if err != nil {
		return app.NodeOptions{}, fmt.Errorf("--data-dir: %w", err)
	}
	drain := ctx.Duration("drain-timeout")
	if drain < 0 {
		return app.NodeOptions{}, ui.Usagef("--drain-timeout %s: must not be negative", drain)
	}
	idle := ctx.Duration("exit-when-idle")
	if idle < 0 {
		return app.NodeOptions{}, ui.Usagef("--exit-when-idle %s: must not be negative", idle)
	}
	return app.NodeOptions{
		ID: id, DataDir: dir, Labels: labels,
		JobTypes: ui.SplitList(ctx.String("job-types")), Shared: ui.SplitList(ctx.String("shared")),
		MaxDetect: ctx.Int(flagMaxDetect), MaxExecute: ctx.Int(flagMaxExecute),
		DrainTimeout: drain, TakeOver: ctx.Bool("take-over"), ExitWhenIdle: idle,
	}, nil
}

func hostID() string {
	host, err := os.Hostname()
	if err != nil {
		return ""
	}
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, strings.ToLower(host))
	return clean[:min(len(clean), jobtype.MaxNameLength)]
}

func parseLabels(written string) (map[string]string, error) {
	labels := map[string]string{}
	for _, pair := range ui.SplitList(written) {
		key, value, found := strings.Cut(pair, "=")
		if !found || key == "" {
			return nil, ui.Usagef("--labels %q: write key=value,key=value", written)
		}
		labels[key] = value
	}
	return labels, nil
}
