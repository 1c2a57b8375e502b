package verbs

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/jobtypes"
	"github.com/roundsman/roundsman/internal/cli/target"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/cli/workers"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/starter"
)

func (c *commands) look() []*cli.Command {
	return []*cli.Command{c.runs(), c.jobs(), c.show(), c.logs(), c.watch()}
}

func (c *commands) runs() *cli.Command {
	return &cli.Command{
		Name: "runs", ArgsUsage: "[REF]", Usage: "list runs, newest first",
		Description: `REF is a job type or a DAG. STATE is open, an outcome, or bad: failed, partial or timeout.

Examples:
  roundsman runs
  roundsman runs scrub --limit 5
  roundsman runs -s bad --since 12h
  roundsman runs -s bad --since 12h -o name | roundsman retry -
  roundsman runs --output json | jq -r '.runs[] | [.workflow_id, .progress.failed] | @tsv'`,
		Flags: lists(some(ui.StateFlag("open, bad or an outcome"), sortFlag(), limitFlag()), ui.PeriodFlags()),
		Action: func(ctx *cli.Context) error {
			wanted, err := ui.Outcomes(ctx, ui.StateOpen, ui.StateBad)
			if err != nil {
				return err
			}
			line := to("runs list").with(ctx, flagSince, flagUntil, ui.FlagSort).uses(ui.FlagState).limited(ctx)
			if at := slices.Index(wanted, ui.StateOpen); at >= 0 {
				line, wanted = line.and("--running"), slices.Delete(wanted, at, at+1)
			}
			if len(wanted) > 0 {
				line = line.and("--outcome=" + strings.Join(wanted, ","))
			}
			if ctx.Args().Len() == 0 {
				return c.forward(ctx, line)
			}
			return c.on(target.Accepts{Named: []ref.Kind{ref.JobType, ref.DAG}}, func(_ *cli.Context, _ *starter.Client, t target.Target) (old, error) {
				if t.Kind == ref.DAG {
					return line.and("--dag=" + t.Name), nil
				}
				return line.and("--job-type=" + t.Name), nil
			})(ctx)
		},
	}
}

func (c *commands) jobs() *cli.Command {
	return &cli.Command{
		Name: "jobs", ArgsUsage: "[REF]", Usage: "list or search jobs and tasks",
		Description: `REF is a run, a worker or a dedupe key. Without REF the newest runs are searched. STATE is a state of a job, or
bad: failed, stale or expired.

Examples:
  roundsman jobs scrub
  roundsman jobs scrub@last -s bad
  roundsman jobs node-a -s running
  roundsman jobs :/srv/a.bin
  roundsman jobs -s failed --since 12h
  roundsman jobs scrub --output json | jq '.items[] | select(.attempt > 1)'`,
		Flags: lists(some(ui.StateFlag("bad or the state of a job"), sortFlag(), limitFlag()), ui.PeriodFlags()),
		Action: func(ctx *cli.Context) error {
			ctx.Context = starter.WithMemory(ctx.Context)
			wanted, err := ui.States(ctx, append([]string{ui.StateBad}, starter.ItemStates()...), contract.JobFailed, contract.JobStale, contract.JobExpired)
			if err != nil {
				return err
			}
			line := to("jobs list").with(ctx, flagSince, flagUntil, ui.FlagSort).uses(ui.FlagState).limited(ctx)
			for _, state := range wanted {
				line = line.and("--state=" + state)
			}
			if ctx.Args().Len() == 0 {
				if len(wanted) == 0 && !ctx.IsSet(flagSince) {
					line = line.and("--since=24h")
				}
				return c.forward(ctx, line)
			}
			parsed, err := ref.Parse(ctx.Args().First())
			if err == nil && parsed.HasKey && !parsed.AtRun {
				if parsed.Name != "" {
					line = line.and("--job-type=" + parsed.Name)
				}
				return c.forward(ctx, line.and("--key="+parsed.Key))
			}
			return c.on(target.Accepts{Named: []ref.Kind{ref.Worker}, Runs: true}, func(_ *cli.Context, _ *starter.Client, t target.Target) (old, error) {
				if t.Kind == ref.Worker {
					return line.and("--node=" + t.Name), nil
				}
				line.args = []string{t.Run.WorkflowID}
				return line, nil
			})(ctx)
		},
	}
}

func pictures() []string { return []string{"svg", "dot", "mermaid", "gantt"} }

func (c *commands) show() *cli.Command {
	return &cli.Command{
		Name: "show", ArgsUsage: "REF...", Usage: "show one thing: run, job, job type, worker, pool",
		Description: `REF is any reference: see ` + "`roundsman help refs`" + `. A bare name is the job type, DAG or worker; NAME@ is its run.
FILE is a DAG. A DAG and a run of it are drawn with -o svg, dot, mermaid or gantt.

Examples:
  roundsman show scrub
  roundsman show scrub@bad
  roundsman show scrub/12
  roundsman show nightly@last/load.n7
  roundsman show node-a
  roundsman show nightly@ -o svg
  roundsman show rollout.yaml -o dot`,
		Flags: ui.WithFormats(lists(some(&cli.BoolFlag{Name: "tree", Usage: "list the tasks of a DAG as a tree, with sub-DAGs"})), pictures()...),
		Action: func(ctx *cli.Context) error {
			texts := ctx.Args().Slice()
			file, other := slices.IndexFunc(texts, ref.File), slices.IndexFunc(texts, func(text string) bool { return !ref.File(text) })
			if file >= 0 && other >= 0 {
				return ui.Usagef("%s is a file, %s is not: show files without other references", texts[file], texts[other])
			}
			if ref.File(ctx.Args().First()) {
				return c.showFiles(ctx, texts)
			}
			ctx.Context = starter.WithMemory(ctx.Context)
			return c.on(target.Accepts{
				Named: []ref.Kind{ref.JobType, ref.Worker, ref.DAG, ref.Pool, ref.Lane, ref.Object, ref.Receiver}, Runs: true, Items: true,
			}, c.showLine)(ctx)
		},
	}
}

func (c *commands) showFiles(ctx *cli.Context, files []string) error {
	if !isPicture(ctx.String(ui.FlagOutput)) {
		return c.forward(ctx, to("dag validate", files...))
	}
	return c.draw(ctx, to("dag render", files...))
}

func isPicture(format string) bool { return slices.Contains(pictures(), format) }

func (c *commands) draw(ctx *cli.Context, line old) error {
	format := ctx.String(ui.FlagOutput)
	if format == "gantt" {
		line = line.and("--gantt")
	} else {
		line = line.and("--format=" + format)
	}
	return c.forward(ctx, line.without(ui.FlagOutput))
}

func (c *commands) showLine(ctx *cli.Context, client *starter.Client, t target.Target) (old, error) {
	if isPicture(ctx.String(ui.FlagOutput)) {
		return c.picture(ctx, client, t)
	}
	switch {
	case t.IsItem():
		return to("jobs show", t.Item.String()), nil
	case t.IsRun():
		return to("runs show", t.Run.WorkflowID).with(ctx, "tree"), nil
	}
	switch t.Kind {
	case ref.Worker:
		return act(t.Name, func() error { return workers.Show(c.Program, ctx, client, t.Name) }), nil
	case ref.DAG:
		return to("runs show", "dag/"+t.Name).with(ctx, "tree"), nil
	case ref.Pool, ref.Lane, ref.Object:
		only := string(t.Kind) + "/" + t.Name
		return act(only, func() error { return workers.ListResources(c.Program, ctx, client, only) }), nil
	case ref.Receiver:
		return to("explain", "receiver/"+t.Name), nil
	case ref.JobType, ref.APIKey:
	}
	return act(t.Name, func() error { return jobtypes.Show(c.Program, ctx, client, t.Name) }), nil
}

func (c *commands) picture(ctx *cli.Context, _ *starter.Client, t target.Target) (old, error) {
	line, format := to("dag render"), ctx.String(ui.FlagOutput)
	switch {
	case t.IsItem():
		line = line.and("--run=" + t.Item.Run.WorkflowID).and("--around=" + t.Item.ID)
	case t.IsRun():
		line = line.and("--run=" + t.Run.WorkflowID)
	case t.Kind == ref.DAG || t.Kind == ref.JobType:
		line = line.and("--run=" + t.Name)
	default:
		return line, starter.Invalidf("%s is a %s: only a DAG or its run can be drawn", t.Text, t.Kind)
	}
	if format == "gantt" {
		return line.and("--gantt").without(ui.FlagOutput), nil
	}
	return line.and("--format=" + format).without(ui.FlagOutput), nil
}

func (c *commands) logs() *cli.Command {
	return &cli.Command{
		Name: "logs", ArgsUsage: "REF", Usage: "print the output of a job or task",
		Description: `REF is RUN/ITEM or a dedupe key, TYPE:KEY. The worker of the attempt answers, from the files of its data directory:
docs/programs.md#output. Without such a worker, the last 16 KiB come from the result.

Examples:
  roundsman logs scrub/12
  roundsman logs compress_logs:/var/log/big.log -f
  roundsman logs nightly@last/load --attempt 1 > attempt-1.log
  roundsman logs scrub/12 --tail 20
  roundsman logs scrub/12 --artifacts
  roundsman logs scrub/12 --artifact reports/a.json > a.json`,
		Flags: flags(some(
			&cli.BoolFlag{Name: ui.FlagFollow, Aliases: []string{"f"}, Usage: "print until it has ended"},
			&cli.IntFlag{Name: "attempt", Usage: "of attempt `N`; 0: of the last one"},
			&cli.IntFlag{Name: "tail", Usage: "begin with the last `N` lines, at most 256 KiB; 0: print all"},
			&cli.BoolFlag{Name: "artifacts", Usage: "list the files that the attempt has left"},
			&cli.StringFlag{Name: "artifact", Usage: "print the file with that `NAME` in the list"},
		)),
		Action: c.on(target.Accepts{Items: true}, func(ctx *cli.Context, _ *starter.Client, t target.Target) (old, error) {
			return to("jobs logs", t.Item.String()).with(ctx, ui.FlagFollow, "attempt", "tail", "artifacts", "artifact"), nil
		}),
	}
}

func (c *commands) watch() *cli.Command {
	return &cli.Command{
		Name: "watch", ArgsUsage: "[REF...]", Usage: "follow runs until they end; without REF, the open ones",
		Description: `On a terminal there is a live bar per run, in a pipe a line now and then; with --output json a line each. The
exit code is 0 only if all completed. Without REF the newest 20 are followed; if more are open, the exit code is 1.
Ctrl-C ends the watching, not the run.

Examples:
  roundsman watch
  roundsman watch scrub
  roundsman watch scrub nightly@december
  roundsman watch scrub --output json | jq -c .counts`,
		Flags: flags(),
		Action: c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			line := to("runs watch")
			err := target.Each(c.Program, ctx, func(text string) error {
				t, err := target.Accepts{Runs: true}.Resolve(ctx.Context, client, text)
				line.args = append(line.args, t.Run.WorkflowID)
				return err
			})
			if err != nil {
				return err
			}
			return c.forward(ctx, line)
		}),
	}
}
