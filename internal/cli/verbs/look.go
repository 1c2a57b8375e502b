package verbs

import (
	"slices"

	"github.com/urfave/cli/v2"

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

func (c *commands) look() []*cli.Command {
	return []*cli.Command{c.show()}
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
		Flags: ui.WithFormats(ui.ListFlags(&cli.BoolFlag{Name: runs.FlagTree, Usage: "list the tasks of a DAG as a tree, with sub-DAGs"}), pictures()...),
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
		return act(t.Item.String(), func() error { return runs.ShowItem(c.Program, ctx, client, t.Item) }), nil
	case t.IsRun():
		return act(t.Run.WorkflowID, func() error { return runs.ShowRun(c.Program, ctx, client, t.Run) }).uses(runs.FlagTree), nil
	}
	switch t.Kind {
	case ref.Worker:
		return act(t.Name, func() error { return workers.Show(c.Program, ctx, client, t.Name) }), nil
	case ref.DAG:
		run, err := refs.Of(client).Run(ctx.Context, "dag/"+t.Name)
		return act(t.Name, func() error { return runs.ShowRun(c.Program, ctx, client, run) }).uses(runs.FlagTree), err
	case ref.Pool, ref.Lane, ref.Object:
		only := string(t.Kind) + "/" + t.Name
		return act(only, func() error { return workers.ListResources(c.Program, ctx, client, only) }), nil
	case ref.Receiver:
		return act(t.Name, func() error { return inspect.Explain(c.Program, ctx, client, "receiver/"+t.Name) }), nil
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
