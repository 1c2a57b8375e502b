package verbs

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/dag"
	"github.com/roundsman/roundsman/internal/cli/inspect"
	"github.com/roundsman/roundsman/internal/cli/jobtypes"
	"github.com/roundsman/roundsman/internal/cli/runs"
	"github.com/roundsman/roundsman/internal/cli/target"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/cli/workers"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/refs"
)

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
		Flags: ui.WithFormats(ui.ListFlags(&cli.BoolFlag{Name: runs.FlagTree, Usage: "list the tasks of a DAG as a tree, with sub-DAGs"}), dag.Formats()...),
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
			return target.On(c.Program, target.Accepts{
				Named: []ref.Kind{ref.JobType, ref.Worker, ref.DAG, ref.Pool, ref.Lane, ref.Object, ref.Receiver}, Runs: true, Items: true,
			}, c.showTarget)(ctx)
		},
	}
}

func (c *commands) showFiles(ctx *cli.Context, files []string) error {
	switch {
	case !isPicture(ctx):
		return target.Act(files[0], func() error { return dag.Validate(c.Program, ctx, files...) }).Run(ctx)
	case len(files) > 1:
		return ui.Usagef("unexpected argument %q: a picture has one DAG", files[1])
	}
	return target.Act(files[0], func() error { return dag.DrawFile(c.Program, ctx, files[0]) }).Run(ctx)
}

func isPicture(ctx *cli.Context) bool {
	return slices.Contains(dag.Formats(), ctx.String(ui.FlagOutput))
}

func (c *commands) showTarget(ctx *cli.Context, client *starter.Client, t target.Target) (target.Effect, error) {
	if isPicture(ctx) {
		return c.picture(ctx, client, t)
	}
	switch {
	case t.IsItem():
		return target.Act(t.Item.String(), func() error { return runs.ShowItem(c.Program, ctx, client, t.Item) }), nil
	case t.IsRun():
		return target.Act(t.Run.WorkflowID, func() error { return runs.ShowRun(c.Program, ctx, client, t.Run) }).Uses(runs.FlagTree), nil
	}
	switch t.Kind {
	case ref.Worker:
		return target.Act(t.Name, func() error { return workers.Show(c.Program, ctx, client, t.Name) }), nil
	case ref.DAG:
		run, err := refs.Of(client).Run(ctx.Context, "dag/"+t.Name)
		return target.Act(t.Name, func() error { return runs.ShowRun(c.Program, ctx, client, run) }).Uses(runs.FlagTree), err
	case ref.Pool, ref.Lane, ref.Object:
		only := string(t.Kind) + "/" + t.Name
		return target.Act(only, func() error { return workers.ListResources(c.Program, ctx, client, only) }), nil
	case ref.Receiver:
		return target.Act(t.Name, func() error { return inspect.Explain(c.Program, ctx, client, "receiver/"+t.Name) }), nil
	case ref.JobType, ref.APIKey:
	}
	return target.Act(t.Name, func() error { return jobtypes.Show(c.Program, ctx, client, t.Name) }), nil
}

func (c *commands) picture(ctx *cli.Context, client *starter.Client, t target.Target) (target.Effect, error) {
	run, around := t.Run.WorkflowID, t.Item.ID
	switch {
	case t.IsItem():
		run = t.Item.Run.WorkflowID
	case t.IsRun():
	case t.Kind == ref.DAG || t.Kind == ref.JobType:
		run = t.Name
	default:
		return target.Effect{}, starter.Invalidf("%s is a %s: only a DAG or its run can be drawn", t.Text, t.Kind)
	}
	return target.Act(t.Text, func() error { return dag.DrawRun(c.Program, ctx, client, run, around) }), nil
}
