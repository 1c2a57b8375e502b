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

// StartFlags are flags of a start that are accepted and not shown.
func StartFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: flagDeadline, Hidden: true, Usage: "cancel the running tasks and fail after `DURATION`, in addition to the spec's own deadline"},
		&cli.StringFlag{Name: flagWorkers, Hidden: true, Usage: "with --dev: ids of the workers to run, `NAME,...`", Value: "node-a,node-b"},
		&cli.StringFlag{Name: ui.FlagDataDir, Hidden: true, Usage: "with --dev: keep the state in `DIR` (default: a temporary directory)"},
		&cli.StringFlag{Name: flagTemporalCLI, Hidden: true, Usage: "with --dev: run the server of Temporal's own CLI at `PATH`"},
	}
}

func checkStart(ctx *cli.Context) error {
	if ctx.Bool(FlagDev) && ctx.IsSet(ui.FlagAddress) {
		return ui.Usagef("--address does not go with --dev, which starts a server of its own: leave one of them out")
	}
	for _, flag := range []string{flagWorkers, ui.FlagDataDir, flagTemporalCLI} {
		if ctx.IsSet(flag) && !ctx.Bool(FlagDev) {
			return ui.Usagef("--%s is for --dev: without it the run uses the workers of the cluster", flag)
		}
	}
	return CheckOptions(ctx)
}

func dagOptions(ctx *cli.Context, by string) (starter.DAGOptions, error) {
	options := starter.DAGOptions{Run: ctx.String(FlagAs), By: by}
	if err := starter.CheckRunName(options.Run); ctx.IsSet(FlagAs) && err != nil {
		return options, ui.Usagef("--as: %w", err)
	}
	if written := ctx.String(flagDeadline); written != "" {
		deadline, err := ui.ParseDuration(written)
		if err != nil || deadline < time.Second {
			return options, ui.Usagef("--deadline %s: must be a duration of at least 1s, for instance 30m", written)
		}
		options.Deadline = deadline
	}
	return options, nil
}

// Start starts the DAG in a file. With --dev a Temporal server, a control plane and workers are started for this run alone.
func Start(p *ui.Program, ctx *cli.Context, file string) error {
	c := &commands{p}
	if err := checkStart(ctx); err != nil {
		return err
	}
	compiled, err := c.compileSpec(file, ui.Pairs(ctx, ui.FlagParam))
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
	if ctx.Bool(FlagDev) {
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
	if ctx.Bool(ui.FlagWait) || ctx.Bool(FlagDev) {
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

// With JSON the display writes to standard error.
func (c *commands) dagDisplay(ctx *cli.Context) (display progress.Display, bars bool) {
	out, options := c.Env.Stdout, progress.Options{
		Terminal: c.Env.Terminal, Width: c.Env.Width, Now: c.Env.Now, Own: c.Env.Own, Items: true,
	}
	if ui.WantsData(ctx) {
		out, options.Terminal = c.Env.Stderr, false
	}
	return progress.New(out, options), options.Terminal
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
	if !ctx.Bool(FlagDev) { // A server of --dev has stopped by then.
		display.Note(c.Env.Own.Text(progress.Advice(last)))
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
