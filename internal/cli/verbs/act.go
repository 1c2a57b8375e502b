package verbs

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/jobtypes"
	"github.com/roundsman/roundsman/internal/cli/target"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/refs"
)

func (c *commands) act() []*cli.Command {
	return []*cli.Command{c.start(), c.submit(), c.retry(), c.cancel()}
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
		Flags: flags(some(
			paramFlag(),
			&cli.StringFlag{Name: flagAs, Usage: "call the run of a DAG `NAME`, for NAME@ID"},
			&cli.StringFlag{Name: "backfill", Usage: "start the runs that were due in `FROM..TO`"},
			&cli.BoolFlag{Name: ui.FlagIgnoreWindow, Usage: "run although the maintenance window is closed"},
			&cli.BoolFlag{Name: "dev", Usage: "run FILE on a server and workers of its own"},
			ui.WaitFlag(), ui.DryRunFlag(),
		)),
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

func (c *commands) submit() *cli.Command {
	return &cli.Command{
		Name: "submit", ArgsUsage: "TYPE[:KEY]", Usage: "run given jobs of a job type, without detection",
		Description: `The jobs run in a group of their own, with the applied settings of the job type. -p are the params of the one job; a
VALUE that is JSON is read as JSON. -f reads one proposal as JSON on each line, or a list in JSON or YAML; its fields are
those of docs/handlers.md. The same --as again starts nothing. --dry-run checks all of it on the server, and lists the keys
that another run has or that are held back.

Examples:
  roundsman submit compress_logs:/var/log/big.log -p item=/var/log/big.log -w
  roundsman submit scrub -p path=/srv/a.bin -l worker=node-a
  find /data -size +1G | jq -Rc '{dedupe_key: ., params: {item: .}}' | roundsman submit compress_logs -f - --as ticket-4711`,
		Flags: flags(some(
			ui.FileFlag("read the proposals from `FILE`; - is standard input"), paramFlag(),
			&cli.StringFlag{Name: flagAs, Usage: "call the run `NAME`, which makes repeating it harmless"},
			&cli.GenericFlag{Name: "label", Aliases: []string{"l"}, Value: &ui.ParamFlag{}, Usage: "only on a worker with label `K=V`; worker=ID is one worker"},
			&cli.BoolFlag{Name: ui.FlagIgnoreWindow, Usage: "run although the maintenance window is closed"},
			ui.WaitFlag(), ui.DryRunFlag(),
		)),
		Action: func(ctx *cli.Context) error {
			parsed, err := ref.Parse(ctx.Args().First())
			if err != nil || parsed.Name == "" || parsed.AtRun || parsed.Item != "" || parsed.Kind != "" && parsed.Kind != ref.JobType {
				return ui.Usagef("%s is no job type or key: write TYPE or TYPE:KEY, see %s --help", ctx.Args().First(), ui.HelpName(ctx))
			}
			line := to("jobs submit").with(ctx, ui.FlagFile, flagAs+"=id", ui.FlagIgnoreWindow, ui.FlagWait, ui.FlagDryRun).uses(ui.FlagParam, "label").and("--type=" + parsed.Name)
			if parsed.HasKey {
				line = line.and("--key=" + parsed.Key)
			}
			for _, label := range values(ctx, "label") {
				if id, worker := strings.CutPrefix(label, "worker="); worker {
					line = line.and("--node=" + id)
				} else {
					line = line.and("--label=" + label)
				}
			}
			if params := values(ctx, ui.FlagParam); len(params) > 0 {
				text, err := ui.ParamsJSON(params)
				if err != nil {
					return err
				}
				line = line.and("--params=" + text)
			}
			return c.forward(ctx, line)
		},
	}
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
		Flags: flags(some(
			&cli.StringSliceFlag{Name: flagFrom, Usage: "execute `TASK` and everything after it again"},
			&cli.BoolFlag{Name: flagFailed, Usage: "only jobs that failed"},
			&cli.BoolFlag{Name: flagMissed, Usage: "only jobs that were never executed"},
			&cli.GenericFlag{Name: flagItem, Value: &ui.TextsFlag{}, Usage: "only the job with this id or `KEY`; several are one run"},
			ui.FileFlag("continue with the DAG in `FILE`"), ui.DryRunFlag(), ui.WaitFlag(),
		)),
		Action: c.on(target.Accepts{Runs: true, Items: true, Changes: true}, func(ctx *cli.Context, client *starter.Client, t target.Target) (old, error) {
			run, line := t.Run, to("dag retry").with(ctx, flagFrom).uses(ui.FlagFile, ui.FlagWait)
			if t.IsItem() {
				run, line = t.Item.Run, line.and("--from="+t.Item.ID)
			}
			if run.Kind() != starter.KindDAG {
				inner, err := refs.Of(client).DAG(ctx.Context, run.WorkflowID)
				if err != nil || ctx.Bool(flagFailed) || ctx.Bool(flagMissed) || ctx.IsSet(flagItem) || ctx.Bool(ui.FlagDryRun) {
					return retryGroup(ctx, run, t.Item.ID), nil //nolint:nilerr // it has no run of a DAG
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

func retryGroup(ctx *cli.Context, run starter.RunRef, job string) old {
	line := to("runs retry", run.WorkflowID).with(ctx, flagFailed, flagMissed, flagItem, ui.FlagDryRun).uses(ui.FlagWait)
	if job != "" {
		line = line.and("--item=" + job)
	}
	if ctx.Bool(ui.FlagWait) {
		line = line.and("--watch")
	}
	return line
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
		Flags: flags(some(
			&cli.BoolFlag{Name: flagForce, Usage: "give a job up without waiting for its handler"},
			ui.ReasonFlag(), ui.WaitFlag(), ui.YesFlag(),
		)),
		Action: c.on(target.Accepts{Runs: true, Items: true, Changes: true}, func(ctx *cli.Context, _ *starter.Client, t target.Target) (old, error) {
			switch {
			case t.IsItem() && ctx.Bool(flagForce):
				if err := c.sure(ctx, "give up "+t.Item.String()+" although its program may still run?"); err != nil {
					return old{}, err
				}
				return to("jobs expire", t.Item.String()).with(ctx, ui.FlagReason).uses(flagForce, ui.FlagYes), nil
			case t.IsItem():
				return to("jobs cancel", t.Item.String()).with(ctx, ui.FlagReason).uses(ui.FlagYes), nil
			}
			return to("runs cancel", t.Run.WorkflowID).with(ctx, ui.FlagReason, ui.FlagWait).uses(ui.FlagYes), nil
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
