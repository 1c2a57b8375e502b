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

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/app"
	"github.com/roundsman/roundsman/internal/cli/progress"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/buildinfo"
	"github.com/roundsman/roundsman/starter"
)

func (c *commands) devCommand() *cli.Command {
	return &cli.Command{
		Name: "dev", Usage: "run everything on this machine",
		Description: `State is kept in the data dir and survives kill -9: a group that was running continues. On the
first start every enabled job type runs once; after that the schedules decide. Without --config,
ROUNDSMAN_CONFIG and a roundsman.yaml in this directory a quickstart is run. Ctrl-C drains the
workers; a second one ends at once. The server is its own, whatever TEMPORAL_ADDRESS says; only
--address makes it use another one. There it deletes no job type, and refuses to change one that
has no owner or another one. --allow-unregistered accepts handlers that no worker has registered.

With --once every enabled job type runs once, a summary is printed, and the exit code is 0 only
if every group completed. A group that still runs from before is waited for instead of started.

Examples:
  roundsman dev
  roundsman dev --config roundsman.yaml --data-dir /var/tmp/roundsman --workers node-a,node-b,node-c
  roundsman dev --once --json --port 0 --ui-port 0 | jq '.groups[] | {job_type, outcome, completed}'`,
		Flags: ui.With(
			&cli.StringFlag{Name: ui.FlagDataDir, Usage: "keep the state in `DIR`", Value: ".roundsman"},
			&cli.IntFlag{Name: "port", Usage: "`PORT` of the Temporal server on 127.0.0.1; 0 chooses a free one", Value: 7233},
			&cli.IntFlag{Name: "ui-port", Usage: "`PORT` of the Web UI on 127.0.0.1; 0 chooses a free one", Value: 8233},
			&cli.StringFlag{Name: flagHTTP, Usage: "serve the API at `[HOST:]PORT`, on loopback (default: 8234, or a free port; with --once not at all)"},
			&cli.StringFlag{Name: "workers", Usage: "ids of the workers to run, `NAME,...`", Value: "node-a,node-b"},
			&cli.BoolFlag{Name: "once", Usage: "run each enabled job type once and end"},
			&cli.BoolFlag{Name: ui.FlagJSON, Hidden: true, Usage: "the same as --output json"},
			&cli.StringFlag{Name: "temporal-cli", Hidden: true, Usage: "run the server of Temporal's own CLI at `PATH` instead of roundsman-devserver"},
			&cli.StringFlag{Name: ui.FlagLogLevel, Hidden: true, Usage: "log from `LEVEL` on to roundsman.log in the data dir: debug, info, warn or error", Value: "info"},
			&cli.StringFlag{Name: ui.FlagLogFormat, Hidden: true, Usage: "write the log as `FORMAT`: text or json", Value: "text"},
			ui.AllowUnregisteredFlag(true),
		),
		Action: c.dev,
	}
}

func (c *commands) dev(ctx *cli.Context) error {
	options, err := c.devOptions(ctx)
	if err != nil {
		return err
	}
	loaded, err := c.devConfig(ctx, options.DataDir)
	if err != nil {
		return err
	}
	if options.HTTP, err = c.devHTTP(ctx, loaded.Access); err != nil {
		return err
	}
	c.Warn(loaded.Warnings)
	if err := os.MkdirAll(options.DataDir, 0o750); err != nil {
		return fmt.Errorf("--data-dir: %w", err)
	}
	file, err := app.OpenLog(filepath.Join(options.DataDir, app.LogFile))
	if err != nil {
		return err
	}
	defer file.Close()
	log, err := logger(ctx, file)
	if err != nil {
		return err
	}
	options.Config, options.Logger = loaded, log
	options.Temporal = ui.WithFlags(ctx, loaded.Temporal)
	return c.runDev(ctx, options)
}

func (c *commands) devOptions(ctx *cli.Context) (app.DevOptions, error) {
	dir, err := filepath.Abs(ctx.String(ui.FlagDataDir))
	if err != nil {
		return app.DevOptions{}, fmt.Errorf("--data-dir: %w", err)
	}
	ids, err := ui.WorkerIDs(ctx)
	if err != nil {
		return app.DevOptions{}, err
	}
	for _, flag := range []string{"port", "ui-port"} {
		if port := ctx.Int(flag); port < 0 || port > 65535 {
			return app.DevOptions{}, ui.Usagef("--%s %d: must be between 0 and 65535 (0 chooses a free one)", flag, port)
		}
	}
	if port := ctx.Int("port"); port != 0 && port == ctx.Int("ui-port") {
		return app.DevOptions{}, ui.Usagef("--port and --ui-port are both %d: give the Web UI another port, or 0 for a free one", port)
	}
	address := ctx.String(ui.FlagAddress)
	return app.DevOptions{
		DataDir: dir, Workers: ids, Handlers: c.Handlers, Shim: c.Env.Shim,
		External: address != "",
		Server: app.DevServer{
			TemporalCLI: ctx.String("temporal-cli"), Executable: c.Env.Executable,
			Port: ctx.Int("port"), UIPort: ctx.Int("ui-port"),
		},
	}, nil
}

const defaultHTTP = "8234"

// Without a flag a busy port is no failure: another `roundsman dev` has it.
func (c *commands) devHTTP(ctx *cli.Context, rules config.Access) (*app.HTTP, error) {
	written := ctx.String(flagHTTP)
	if written == "" && ctx.Bool("once") {
		return nil, nil //nolint:nilnil // nothing is served
	}
	served, err := app.NewHTTP(cmp.Or(written, defaultHTTP), c.Operator(), rules)
	if err != nil {
		return nil, ui.Faulty(err)
	}
	served.AnyPort, served.Handlers = written == "", c.Handlers
	return served, nil
}

func (c *commands) display(ctx *cli.Context) progress.Display {
	if ui.WantsData(ctx) {
		return progress.New(c.Env.Stderr, progress.Options{Now: c.Env.Now, Own: c.Env.Own})
	}
	if ctx.Bool("once") {
		return progress.New(c.Env.Stdout, progress.Options{Terminal: c.Env.Terminal, Width: c.Env.Width, Now: c.Env.Now, Own: c.Env.Own})
	}
	return newQuiet(progress.New(c.Env.Stdout, progress.Options{Terminal: c.Env.Terminal, Width: c.Env.Width, Now: c.Env.Now, Own: c.Env.Own, Timed: true}), c.Env.Now)
}

func (c *commands) runDev(ctx *cli.Context, options app.DevOptions) error {
	out := c.Env.Stdout
	if ui.WantsData(ctx) {
		out = c.Env.Stderr
	}
	display := c.display(ctx)
	defer display.Close()
	options.Notify = display.Note
	return app.WithDev(ctx.Context, options, func(running context.Context, dev *app.Dev) error {
		c.banner(out, dev, options)
		names := enabledNames(options.Config)
		shown := &follower{client: dev.Client, display: display, open: dev.Open}
		if ctx.Bool("once") {
			return c.devOnce(running, ctx, shown, names)
		}
		return c.devForever(running, ctx, shown, names, options.Logger)
	})
}

func enabledNames(loaded *config.Config) []string {
	var names []string
	for _, name := range ui.SortedKeys(loaded.JobTypes) {
		if loaded.JobTypes[name].Enabled {
			names = append(names, name)
		}
	}
	return names
}

func (c *commands) banner(w io.Writer, dev *app.Dev, options app.DevOptions) {
	shown := &ui.Fields{}
	shown.Add("Roundsman", ui.Cell{Text: buildinfo.Version(), Paint: ui.Bold})
	if url := options.HTTP.URL(); url != "" {
		shown.Add("console", ui.Cell{Text: url, Paint: ui.Bold})
		at := url + "api/v1"
		if moved := options.HTTP.Moved; moved != nil {
			at += fmt.Sprintf(" (%v; --http chooses a port)", moved)
		}
		shown.Add("API", ui.Text(at))
	}
	shown.Add("Web UI", ui.Text(dev.Ready.UIURL))
	shown.Add("Temporal", ui.Textf("%s, namespace %s", dev.Ready.Address, dev.Client.Namespace()))
	shown.Add("workers", ui.Text(strings.Join(options.Workers, ", ")))
	shown.Add("data", ui.Text(options.DataDir))
	for _, name := range ui.SortedKeys(options.Config.JobTypes) {
		declared := options.Config.JobTypes[name]
		state := when(declared.Schedule)
		if !declared.Enabled {
			state = "disabled"
		}
		shown.Add("job type", ui.Textf("%s (%s), %s", name, cmp.Or(declared.Handler, "dag "+declared.DAG), state))
	}
	for _, line := range tryNext(dev.Ready.Address, options) {
		shown.Add("try", ui.Text(c.Env.Own.Text(line)))
	}
	shown.Write(w, c.Env.Colors())
	fmt.Fprintln(w)
}

func tryNext(address string, options app.DevOptions) []string {
	var lines []string
	if address != starter.DefaultAddress {
		lines = append(lines, "export TEMPORAL_ADDRESS="+address)
	}
	for _, name := range enabledNames(options.Config) {
		lines = append(lines, "roundsman show "+name, "roundsman explain "+name)
		break
	}
	return append(lines, "roundsman runs", "roundsman workers")
}

func when(schedule contract.ScheduleSpec) string {
	if schedule.Every > 0 {
		return "every " + schedule.Every.String()
	}
	return strings.TrimSpace(strings.Join(schedule.Cron, "; ") + " " + schedule.Timezone)
}

// After an interrupt the groups continue at the next start.
func (c *commands) devOnce(running context.Context, ctx *cli.Context, shown *follower, names []string) error {
	reports, err := shown.runAll(running, names)
	shown.display.Close()
	if err != nil {
		if cause := context.Cause(running); cause != nil {
			err = cause
		}
		if errors.Is(err, context.Canceled) {
			return errors.New("interrupted: groups that run continue with the next `roundsman dev` on this data dir")
		}
		return err
	}
	if ui.WantsData(ctx) {
		if err := c.Answer(ctx, map[string]any{"groups": reports}); err != nil {
			return err
		}
	} else if len(reports) == 0 {
		fmt.Fprintln(c.Env.Stdout, "nothing to do: no job type is enabled")
	}
	return ui.Silent(exitOf(reports))
}

// exitOf returns the exit code of all runs.
func exitOf(reports []GroupReport) int {
	code := ui.ExitOK
	for _, report := range reports {
		code = ui.Worse(code, ui.ExitOf(contract.Outcome(report.Outcome), report.Warning))
	}
	return code
}

// At the start it runs job types that never ran, so that a newcomer sees something.
func (c *commands) devForever(running context.Context, ctx *cli.Context, shown *follower, names []string, log *slog.Logger) error {
	if ui.WantsData(ctx) {
		shown.ended = func(snapshot starter.Snapshot) {
			if err := c.AnswerPart(ctx, reportOf(snapshot)); err != nil {
				log.Warn("report", "error", err)
			}
		}
	}
	shown.followAll(running, names)
	<-running.Done() // Without job types there is nothing to follow, but DAGs can run.
	shown.display.Note("stopping: running jobs end or are handed back; Ctrl-C again ends at once")
	shown.display.Close()
	if cause := context.Cause(running); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}
