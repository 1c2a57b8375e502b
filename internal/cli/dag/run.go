package dag

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/progress"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

func (c *commands) dagRun() *cli.Command {
	return &cli.Command{
		Name: "run", ArgsUsage: "FILE", Usage: "run a DAG and wait until it has ended",
		Description: specArgument + `

The exit code is 0 only if the run completed. Ctrl-C stops waiting, not the run. With --dev no
server is needed: a Temporal server, a control plane and workers are started for this run alone
and stopped after it.

With --watch a terminal shows a live view, a pipe a line now and then; without it only what needs
a person, and the end, are told. With --output json one object is printed at the end:
{"dag", "workflow_id", "run_id", "outcome", "counts": {STATE: N}, "duration_ms",
"tasks": {ID: {"state", "attempts", "worker", "error", "from_run"}}}.

Examples:
  roundsman start maintenance.yaml -w
  roundsman start maintenance.yaml -p release=2026.12 --as december -w
  roundsman start maintenance.yaml
  roundsman start nine.yaml --output json --dev | jq .counts
  roundsman start nine.yaml --workers node-a,node-b,node-c --dev`,
		Flags: ui.With(append([]cli.Flag{
			newParamFlag(),
			&cli.StringFlag{Name: "as", Usage: "call the run dag/<name of the DAG>/`NAME` (default: the time)"},
			&cli.StringFlag{Name: ui.FlagDeadline, Usage: "cancel the running tasks and fail after `DURATION`, in addition to the spec's own deadline"},
			&cli.BoolFlag{Name: "dev", Usage: "run it on a server and workers of its own, on this machine"},
			&cli.StringFlag{Name: "workers", Usage: "with --dev: ids of the workers to run, `NAME,...`", Value: "node-a,node-b"},
			&cli.StringFlag{Name: ui.FlagDataDir, Usage: "with --dev: keep the state in `DIR` (default: a temporary directory)"},
			&cli.StringFlag{Name: "temporal-cli", Usage: "with --dev: run the server of Temporal's own CLI at `PATH`"},
		}, followFlags()...)...),
		Before: checkDAGRun,
		Action: c.runDAG,
	}
}

func followFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: ui.FlagWatch, Aliases: []string{"w"}, Usage: "show the run while it runs"},
		&cli.BoolFlag{Name: ui.FlagDetach, Aliases: []string{"d"}, Usage: "start the run and do not wait for it"},
	}
}

func checkFollow(ctx *cli.Context) error {
	if ctx.Bool(ui.FlagWatch) && ctx.Bool(ui.FlagDetach) {
		return ui.Usagef("--watch and --detach exclude each other")
	}
	return nil
}

func checkDAGRun(ctx *cli.Context) error {
	if err := checkFollow(ctx); err != nil {
		return err
	}
	if !ctx.Bool("dev") {
		for _, flag := range []string{"workers", ui.FlagDataDir, "temporal-cli"} {
			if ctx.IsSet(flag) {
				return ui.Usagef("--%s is for --dev: without it the run uses the workers of the cluster", flag)
			}
		}
	} else if ctx.Bool(ui.FlagDetach) {
		return ui.Usagef("--detach does not go with --dev: the server ends with the command")
	} else if ctx.IsSet(ui.FlagAddress) {
		return ui.Usagef("--address does not go with --dev, which starts a server of its own: leave one of them out")
	}
	_, err := dagOptions(ctx, "")
	return err
}

func checkRunFlag(ctx *cli.Context) error {
	if !ctx.IsSet("as") {
		return nil
	}
	if err := starter.CheckRunName(ctx.String("as")); err != nil {
		return ui.Usagef("--as: %w", err)
	}
	return nil
}

func dagOptions(ctx *cli.Context, by string) (starter.DAGOptions, error) {
	options := starter.DAGOptions{Run: ctx.String("as"), By: by}
	if err := checkRunFlag(ctx); err != nil {
		return options, err
	}
	if written := ctx.String(ui.FlagDeadline); written != "" {
		deadline, err := ui.ParseDuration(written)
		if err != nil || deadline < time.Second {
			return options, ui.Usagef("--deadline %s: must be a duration of at least 1s, for instance 30m", written)
		}
		options.Deadline = deadline
	}
	return options, nil
}

func (c *commands) runDAG(ctx *cli.Context) error {
	compiled, err := c.compileSpec(ctx.Args().First(), paramsOf(ctx))
	if err != nil {
		return err
	}
	// Refused before anything is started, even a server.
	if _, err := travelSize(compiled); err != nil {
		return ui.Faulty(err)
	}
	options, err := dagOptions(ctx, c.Operator())
	if err != nil {
		return err
	}
	declared, err := c.Settings(ctx)
	if err != nil {
		return err
	}
	options.Resources = declared.Resources
	start := func(client *starter.Client) (starter.RunRef, error) {
		ref, err := client.DAGs().Run(ctx.Context, compiled, options)
		return ref, tooLargeIsFaulty(err)
	}
	if ctx.Bool("dev") {
		return c.runDAGDev(ctx, compiled.Header.Name, start)
	}
	return c.Connected(func(ctx *cli.Context, client *starter.Client) error {
		ref, err := start(client)
		if err != nil {
			return err
		}
		return c.started(ctx, client.Runs(), compiled.Header.Name, ref)
	})(ctx)
}

func tooLargeIsFaulty(err error) error {
	if _, ok := errors.AsType[*starter.DAGTooLargeError](err); ok {
		return ui.Faulty(err)
	}
	return err
}

func (c *commands) started(ctx *cli.Context, client dagFollowed, name string, ref starter.RunRef) error {
	if !ctx.Bool(ui.FlagDetach) {
		return ui.GoesOn(ref, c.follow(ctx.Context, ctx, client, name, ref))
	}
	if ui.WantsData(ctx) {
		return c.Answer(ctx, Report{
			DAG: name, WorkflowID: ref.WorkflowID, RunID: ref.RunID, Outcome: "running",
			Counts: map[string]int{}, Tasks: map[string]TaskReport{},
		})
	}
	c.Print("%s: started %s (follow it with `roundsman watch %s`)", name, ref.WorkflowID, ref.WorkflowID)
	return nil
}

type dagFollowed interface {
	itemLister
	Watch(ctx context.Context, ref starter.RunRef, interval time.Duration) iter.Seq2[starter.Snapshot, error]
}

// With JSON the display writes to standard error. Without --watch it shows only urgent events and the end.
func (c *commands) dagDisplay(ctx *cli.Context) (display progress.Display, bars bool) {
	out, options := c.Env.Stdout, progress.Options{
		Terminal: c.Env.Terminal, Width: c.Env.Width, Now: c.Env.Now, Items: true, NotesOnly: !ctx.Bool(ui.FlagWatch),
	}
	if ui.WantsData(ctx) {
		out, options.Terminal = c.Env.Stderr, false
	}
	return progress.New(out, options), options.Terminal && !options.NotesOnly
}

// The error is a silent exit code unless the run completed. The end of waiting ends only the display.
func (c *commands) follow(waiting context.Context, ctx *cli.Context, client dagFollowed, name string, ref starter.RunRef) error {
	display, bars := c.dagDisplay(ctx)
	defer display.Close()
	if bars { // Lines include these texts.
		display.Note(fmt.Sprintf("%s: started %s", name, ref.WorkflowID))
	}
	var last starter.Snapshot
	for snapshot, err := range client.Watch(waiting, ref, 0) {
		if err != nil {
			return err
		}
		last = snapshot
		display.Update(snapshot)
	}
	if !ctx.Bool("dev") { // A server of --dev has stopped by then.
		display.Note(progress.Advice(last))
	}
	display.Close()
	return c.judge(ctx, client, last)
}

func (c *commands) judge(ctx *cli.Context, client itemLister, last starter.Snapshot) error {
	if ui.WantsData(ctx) {
		report, err := reportOfDAG(ctx.Context, client, last, c.Env.Now())
		if err != nil {
			return err
		}
		if err := c.Answer(ctx, report); err != nil {
			return err
		}
	}
	return ui.Silent(ui.ExitOf(last.Outcome, last.Counts[contract.JobWarning]))
}
