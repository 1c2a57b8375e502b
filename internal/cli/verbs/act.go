package verbs

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/dag"
	"github.com/roundsman/roundsman/internal/cli/jobtypes"
	"github.com/roundsman/roundsman/internal/cli/runs"
	"github.com/roundsman/roundsman/internal/cli/target"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/refs"
)

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
		Flags: ui.With(append(dag.StartFlags(),
			ui.ParamFlagOf(),
			&cli.StringFlag{Name: dag.FlagAs, Usage: "call the run of a DAG `NAME`, for NAME@ID"},
			&cli.StringFlag{Name: flagBackfill, Usage: "start the runs that were due in `FROM..TO`"},
			ui.IgnoreWindowFlag(),
			&cli.BoolFlag{Name: dag.FlagDev, Usage: "run FILE on a server and workers of its own"},
			ui.WaitFlag(), ui.DryRunFlag(),
		)...),
		Action: func(ctx *cli.Context) error {
			if text := ctx.Args().First(); ref.File(text) {
				return c.startFile(ctx, text)
			}
			return target.On(c.Program, target.Accepts{Named: []ref.Kind{ref.JobType, ref.DAG}}, c.startType)(ctx)
		},
	}
}

func (c *commands) startFile(ctx *cli.Context, file string) error {
	if ctx.Bool(ui.FlagDryRun) {
		return target.Act(file, func() error { return dag.DryRun(c.Program, ctx, file) }).Uses(ui.FlagParam, ui.FlagDryRun).Run(ctx)
	}
	uses := []string{ui.FlagParam, dag.FlagAs, dag.FlagDev, ui.FlagWait}
	for _, flag := range dag.StartFlags() {
		uses = append(uses, flag.Names()[0])
	}
	return target.Act(file, func() error { return dag.Start(c.Program, ctx, file) }).Uses(uses...).Run(ctx)
}

func (c *commands) startType(ctx *cli.Context, client *starter.Client, t target.Target) (target.Effect, error) {
	backfill := ctx.String(flagBackfill)
	switch {
	case t.Kind == ref.DAG:
		return target.Effect{}, starter.Invalidf("%s is a DAG and no job type: start it from its file, `roundsman start %s.yaml`", t.Name, t.Name)
	case backfill != "":
		return target.Act(t.Name, func() error { return jobtypes.Backfill(c.Program, ctx, client, t.Name, backfill) }).Uses(flagBackfill, ui.FlagDryRun), nil
	case ctx.Bool(ui.FlagDryRun):
		return target.Act(t.Name, func() error { return jobtypes.Detect(c.Program, ctx, client, t.Name) }).Uses(ui.FlagParam, ui.FlagDryRun), nil
	}
	return target.Act(t.Name, func() error { return jobtypes.Start(c.Program, ctx, client, t.Name) }).Uses(ui.FlagParam, ui.FlagIgnoreWindow, ui.FlagWait), nil
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
		Flags: ui.With(append(dag.RetryFlags(),
			&cli.StringSliceFlag{Name: dag.FlagFrom, Usage: "execute `TASK` and everything after it again"},
			&cli.BoolFlag{Name: runs.FlagFailed, Usage: "only jobs that failed"},
			&cli.BoolFlag{Name: runs.FlagMissed, Usage: "only jobs that were never executed"},
			&cli.GenericFlag{Name: runs.FlagItem, Value: &ui.TextsFlag{}, Usage: "only the job with this id or `KEY`; several are one run"},
			ui.FileFlag("continue with the DAG in `FILE`"), ui.DryRunFlag(), ui.WaitFlag(),
		)...),
		Before: dag.CheckOptions,
		Action: target.On(c.Program, target.Accepts{Runs: true, Items: true, Changes: true}, c.retryTarget),
	}
}

func (c *commands) retryTarget(ctx *cli.Context, client *starter.Client, t target.Target) (target.Effect, error) {
	run, items := t.Run, []string(nil)
	if t.IsItem() {
		run, items = t.Item.Run, []string{t.Item.ID}
	}
	if run.Kind() != starter.KindDAG {
		inner, err := refs.Of(client).DAG(ctx.Context, run.WorkflowID)
		if err != nil || ctx.Bool(runs.FlagFailed) || ctx.Bool(runs.FlagMissed) || ctx.IsSet(runs.FlagItem) || ctx.Bool(ui.FlagDryRun) {
			retry := target.Act(run.WorkflowID, func() error { return runs.Retry(c.Program, ctx, client, run, items...) })
			return retry.Uses(runs.FlagFailed, runs.FlagMissed, runs.FlagItem, ui.FlagDryRun, ui.FlagWait), nil //nolint:nilerr // it has no run of a DAG
		}
		run = inner
	}
	from := slices.Concat(ctx.StringSlice(dag.FlagFrom), items)
	uses := []string{dag.FlagFrom, ui.FlagFile, ui.FlagWait}
	for _, flag := range dag.RetryFlags() {
		uses = append(uses, flag.Names()[0])
	}
	return target.Act(run.WorkflowID, func() error { return dag.Retry(c.Program, ctx, client, run, from) }).Uses(uses...), nil
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
		Action: target.On(c.Program, target.Accepts{Runs: true, Items: true, Changes: true}, func(ctx *cli.Context, client *starter.Client, t target.Target) (target.Effect, error) {
			switch {
			case t.IsItem() && ctx.Bool(flagForce):
				if err := c.sure(ctx, "give up "+t.Item.String()+" although its program may still run?"); err != nil {
					return target.Effect{}, err
				}
				return target.Act(t.Item.String(), func() error { return runs.ExpireItem(c.Program, ctx, client, t.Item) }).Uses(ui.FlagReason, flagForce, ui.FlagYes), nil
			case t.IsItem():
				return target.Act(t.Item.String(), func() error { return runs.CancelItem(c.Program, ctx, client, t.Item) }).Uses(ui.FlagReason, ui.FlagYes), nil
			}
			return target.Act(t.Run.WorkflowID, func() error { return runs.Cancel(c.Program, ctx, client, t.Run) }).Uses(ui.FlagReason, ui.FlagWait, ui.FlagYes), nil
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
