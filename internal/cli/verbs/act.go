package verbs

import (
	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/jobtypes"
	"github.com/roundsman/roundsman/internal/cli/runs"
	"github.com/roundsman/roundsman/internal/cli/target"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/refs"
)

func (c *commands) act() []*cli.Command {
	return []*cli.Command{c.start(), c.retry(), c.cancel()}
}

func (c *commands) start() *cli.Command {
	return &cli.Command{
		Name: "start", ArgsUsage: "NAME|FILE", Usage: "start a job type now, or a DAG from a file",
		Description: `The run is printed and continues by itself; -w waits, with exit code 0 only if it completed. A paused job type starts,
too. -p sets params of this run alone, for its detection and its jobs. --dry-run detects and starts nothing.
Of a FILE it prints the command line of each task. --backfill starts the runs that were due.

Examples:
  roundsman start scrub
  roundsman start scrub --dry-run
  roundsman start nightly -p release=2026.12 -w
  roundsman start report --backfill 2026-11-01T00:00:00Z..2026-11-08T00:00:00Z
  roundsman start rollout.yaml --as december
  generate-dag | roundsman start -`,
		Flags: ui.With(
			ui.ParamFlagOf(),
			&cli.StringFlag{Name: flagAs, Usage: "call the run of a DAG `NAME`, for NAME@ID"},
			&cli.StringFlag{Name: "backfill", Usage: "start the runs that were due in `FROM..TO`"},
			&cli.BoolFlag{Name: ui.FlagIgnoreWindow, Usage: "run although the maintenance window is closed"},
			&cli.BoolFlag{Name: "dev", Usage: "run FILE on a server and workers of its own"},
			ui.WaitFlag(), ui.DryRunFlag(),
		),
		Action: func(ctx *cli.Context) error {
			if text := ctx.Args().First(); ref.File(text) {
				return c.startFile(ctx, text)
			}
			return c.on(target.Accepts{Named: []ref.Kind{ref.JobType, ref.DAG}}, c.startLine)(ctx)
		},
	}
}

func (c *commands) startFile(ctx *cli.Context, file string) error {
	if ctx.Bool(ui.FlagDryRun) {
		line := to("dag validate", file).and("--commands").with(ctx, ui.FlagParam).uses(ui.FlagDryRun)
		line.offline = true
		return c.forward(ctx, line)
	}
	line := to("dag run", file).with(ctx, ui.FlagParam, flagAs, "dev").uses(ui.FlagWait)
	if ctx.Bool(ui.FlagWait) || ctx.Bool("dev") {
		return c.forward(ctx, line.and("--watch"))
	}
	return c.forward(ctx, line.and("--detach"))
}

func (c *commands) startLine(ctx *cli.Context, client *starter.Client, t target.Target) (old, error) {
	backfill := ctx.String("backfill")
	switch {
	case t.Kind == ref.DAG:
		return old{}, starter.Invalidf("%s is a DAG and no job type: start it from its file, `roundsman start %s.yaml`", t.Name, t.Name)
	case backfill != "":
		return act(t.Name, func() error { return jobtypes.Backfill(c.Program, ctx, client, t.Name, backfill) }).uses("backfill", ui.FlagDryRun), nil
	case ctx.Bool(ui.FlagDryRun):
		return act(t.Name, func() error { return jobtypes.Detect(c.Program, ctx, client, t.Name) }).uses(ui.FlagParam, ui.FlagDryRun), nil
	}
	return act(t.Name, func() error { return jobtypes.Start(c.Program, ctx, client, t.Name) }).uses(ui.FlagParam, ui.FlagIgnoreWindow, ui.FlagWait), nil
}

func (c *commands) retry() *cli.Command {
	return &cli.Command{
		Name: "retry", ArgsUsage: "REF...", Usage: "run again the failed, missed and blocked items",
		Description: `A new run starts. Of a job type it executes the jobs that were not done: all, those that failed, those that were missed
(never executed), or the named one; a key that another run has, or that is held back, is left out. Of a DAG it takes over what
succeeded and executes the rest. In an open run of a DAG the tasks are tried again. RUN/TASK executes that task and everything
after it again. -f replaces the DAG.

Examples:
  roundsman retry scrub@bad --failed --dry-run
  roundsman retry scrub@bad --failed --missed -w
  roundsman retry scrub:/srv/a.bin
  roundsman retry scrub@bad --item job-000012 --item /srv/b.bin
  roundsman retry nightly
  roundsman retry nightly@bad -w
  roundsman retry nightly/load
  roundsman retry nightly@last --from load -f nightly.yaml
  roundsman runs -s bad --since 12h -o name | roundsman retry -`,
		Flags: ui.With(
			&cli.StringSliceFlag{Name: flagFrom, Usage: "execute `TASK` and everything after it again"},
			&cli.BoolFlag{Name: runs.FlagFailed, Usage: "only jobs that failed"},
			&cli.BoolFlag{Name: runs.FlagMissed, Usage: "only jobs that were never executed"},
			&cli.GenericFlag{Name: runs.FlagItem, Value: &ui.TextsFlag{}, Usage: "only the job with this id or `KEY`; several are one run"},
			ui.FileFlag("continue with the DAG in `FILE`"), ui.DryRunFlag(), ui.WaitFlag(),
		),
		Action: c.on(target.Accepts{Runs: true, Items: true, Changes: true}, func(ctx *cli.Context, client *starter.Client, t target.Target) (old, error) {
			run, line := t.Run, to("dag retry").with(ctx, flagFrom).uses(ui.FlagFile, ui.FlagWait)
			if t.IsItem() {
				run, line = t.Item.Run, line.and("--from="+t.Item.ID)
			}
			if run.Kind() != starter.KindDAG {
				inner, err := refs.Of(client).DAG(ctx.Context, run.WorkflowID)
				if err != nil || ctx.Bool(runs.FlagFailed) || ctx.Bool(runs.FlagMissed) || ctx.IsSet(runs.FlagItem) || ctx.Bool(ui.FlagDryRun) {
					return c.retryGroup(ctx, client, run, t.Item.ID), nil //nolint:nilerr // it has no run of a DAG
				}
				run = inner
			}
			line.args = []string{run.WorkflowID}
			if file := ctx.String(ui.FlagFile); file != "" {
				line.args = append(line.args, file)
				line = line.and("--accept-diff")
			}
			if ctx.Bool(ui.FlagWait) {
				return line.and("--watch"), nil
			}
			return line.and("--detach"), nil
		}),
	}
}

func (c *commands) retryGroup(ctx *cli.Context, client *starter.Client, run starter.RunRef, job string) old {
	var jobs []string
	if job != "" {
		jobs = append(jobs, job)
	}
	return act(run.WorkflowID, func() error { return runs.Retry(c.Program, ctx, client, run, jobs...) }).
		uses(runs.FlagFailed, runs.FlagMissed, runs.FlagItem, ui.FlagDryRun, ui.FlagWait)
}

func (c *commands) cancel() *cli.Command {
	return &cli.Command{
		Name: "cancel", ArgsUsage: "REF...", Usage: "stop runs, jobs or tasks",
		Description: `Running jobs are stopped, the others never start. In a DAG, tasks with trigger_rule always still run; a second cancel
stops them, too. The command fails if the run already has its outcome. --force gives a job up at once, without its
handler; its program may still run.

Examples:
  roundsman cancel scrub -r "disk is being replaced" -w
  roundsman cancel scrub/12
  roundsman cancel scrub:/srv/a.bin
  roundsman cancel --force -y scrub@last/12 -r "node-7 burned down"`,
		Flags: ui.With(
			&cli.BoolFlag{Name: flagForce, Usage: "give a job up without waiting for its handler"},
			ui.ReasonFlag(), ui.WaitFlag(), ui.YesFlag(),
		),
		Action: c.on(target.Accepts{Runs: true, Items: true, Changes: true}, func(ctx *cli.Context, client *starter.Client, t target.Target) (old, error) {
			switch {
			case t.IsItem() && ctx.Bool(flagForce):
				if err := c.sure(ctx, "give up "+t.Item.String()+" although its program may still run?"); err != nil {
					return old{}, err
				}
				return act(t.Item.String(), func() error { return runs.ExpireItem(c.Program, ctx, client, t.Item) }).uses(ui.FlagReason, flagForce, ui.FlagYes), nil
			case t.IsItem():
				return act(t.Item.String(), func() error { return runs.CancelItem(c.Program, ctx, client, t.Item) }).uses(ui.FlagReason, ui.FlagYes), nil
			}
			return act(t.Run.WorkflowID, func() error { return runs.Cancel(c.Program, ctx, client, t.Run) }).uses(ui.FlagReason, ui.FlagWait, ui.FlagYes), nil
		}),
	}
}

// sure waits for a yes on a terminal; in a pipe --yes is needed.
func (c *commands) sure(ctx *cli.Context, question string) error {
	if ctx.Bool(ui.FlagYes) {
		return nil
	}
	if !c.Env.Interactive {
		return ui.Usagef("%s Add --yes", question)
	}
	yes, err := c.Confirm(ctx.Context, question)
	if err == nil && !yes {
		err = ui.Usagef("nothing was done")
	}
	return err
}
