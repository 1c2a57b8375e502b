package dag

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/draw"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/refs"
)

func (c *commands) dagRender() *cli.Command {
	return &cli.Command{
		Name: "render", ArgsUsage: "[FILE]", Usage: "draw a DAG, or a run of it with the tasks' states",
		Description: specArgument + `

With --run the tasks are colored by their states; without FILE the picture then shows the tasks of
the run, those added on the way included. ` + dagRunArgument + `

Graphs of more than 100 tasks show each fan-out as one box with its counts (--collapse). A graph
that stays too large to be looked at is refused; --around draws a part of it.

Examples:
  roundsman show maintenance.yaml -o svg > maintenance.svg
  roundsman show rolling-maintenance@ -o svg > now.svg
  roundsman show dag/nightly/20261120T090000-1f2e3d -o svg > nightly.svg
  roundsman show nightly@ -o gantt > nightly.svg
  roundsman show maintenance.yaml -o mermaid
  roundsman show maintenance.yaml -o dot | dot -Tpdf -o maintenance.pdf
  roundsman dag render huge.yaml --around load-17 -o load-17.svg`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "format", Usage: "write `FORMAT`: svg, dot or mermaid (default: by the name of --out, else svg)"},
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "write to `FILE` (default: standard output)"},
			&cli.StringFlag{Name: ui.FlagRun, Usage: "color the tasks by their states in `RUN`"},
			&cli.BoolFlag{Name: flagGantt, Usage: "draw the ready, start and end times of the tasks of --run, as SVG"},
			&cli.StringFlag{Name: "around", Usage: "draw only `TASK`, its needs and its dependents"},
			&cli.StringFlag{Name: "collapse", Usage: "draw fan-outs as one box each: `WHEN` is auto, always or never", Value: string(draw.Auto)},
			&cli.StringFlag{Name: "direction", Usage: "let time run `WHERE`: right or down", Value: "right"},
			newParamFlag(),
		}, connectionFlags()...),
		Before: checkRender,
		Action: c.render,
	}
}

// connectionFlags are the common flags without --output, because the file has its short form.
func connectionFlags() []cli.Flag {
	return slices.DeleteFunc(ui.CommonFlags(), func(flag cli.Flag) bool { return flag.Names()[0] == ui.FlagOutput })
}

func checkRender(ctx *cli.Context) error {
	if ctx.Args().Len() == 0 && ctx.String(ui.FlagRun) == "" {
		return ui.Usagef("name a FILE, a --run RUN, or both: see %s --help", ctx.Command.HelpName)
	}
	if format, err := renderFormat(ctx); err != nil {
		return err
	} else if ctx.Bool(flagGantt) && (ctx.String(ui.FlagRun) == "" || ctx.Args().Len() > 0 || format != draw.SVG) {
		return ui.Usagef("--gantt draws a --run as svg, without a FILE")
	}
	if mode := draw.Collapse(ctx.String("collapse")); !slices.Contains(draw.CollapseModes(), mode) {
		return ui.Usagef("--collapse %s: must be one of %v", mode, draw.CollapseModes())
	}
	if direction := ctx.String("direction"); direction != "right" && direction != "down" {
		return ui.Usagef("--direction %s: must be right or down", direction)
	}
	return nil
}

func renderFormat(ctx *cli.Context) (draw.Format, error) {
	if named := draw.Format(ctx.String("format")); named != "" {
		if !slices.Contains(draw.Formats(), named) {
			return "", ui.Usagef("--format %s: must be one of %v", named, draw.Formats())
		}
		return named, nil
	}
	switch ext := strings.ToLower(filepath.Ext(ctx.String("out"))); ext {
	case "", ".svg":
		return draw.SVG, nil
	case ".dot", ".gv":
		return draw.Dot, nil
	case ".mmd", ".mermaid":
		return draw.Mermaid, nil
	default:
		return "", ui.Usagef("--out %s: %s is no picture that can be written; choose svg, dot or mermaid with --format", ctx.String("out"), ext)
	}
}

func (c *commands) render(ctx *cli.Context) error {
	format, err := renderFormat(ctx)
	if err != nil {
		return err
	}
	if ctx.Bool(flagGantt) {
		return c.gantt(ctx)
	}
	picture, err := c.picture(ctx)
	if err != nil {
		return err
	}
	picture.Down = ctx.String("direction") == "down"
	if around := ctx.String("around"); around != "" {
		if err := picture.Around(around); err != nil {
			return ui.Faulty(err)
		}
	}
	out := ctx.String("out")
	var drawn draw.Drawn
	write := func(w io.Writer) error {
		drawn, err = picture.Draw(w, format, draw.Collapse(ctx.String("collapse")))
		return err
	}
	if out == "" || out == ui.StdinName {
		return write(c.Env.Stdout)
	}
	if err := writeWhole(out, write); err != nil {
		return err
	}
	boxes := ""
	if drawn.Boxes != drawn.Tasks {
		boxes = fmt.Sprintf(" in %d boxes", drawn.Boxes)
	}
	c.Print("wrote %s: %s%s, %s", out, ui.Plural(drawn.Tasks, "task"), boxes, dependencies(drawn.Edges))
	return nil
}

// writeWhole replaces a file. After a failure the old file is still there.
func writeWhole(path string, write func(io.Writer) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	defer os.Remove(file.Name()) //nolint:errcheck // The rename has moved it.
	if err := write(file); err != nil {
		_ = file.Close()
		return err
	}
	if err := file.Chmod(0o644); err != nil {
		_ = file.Close()
		return fmt.Errorf("--out: %w", err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

func (c *commands) picture(ctx *cli.Context) (*draw.Picture, error) {
	var drawn *draw.Picture
	if ctx.Args().Len() > 0 {
		compiled, err := c.compileSpec(ctx.Args().First(), paramsOf(ctx))
		if err != nil {
			return nil, err
		}
		if drawn, err = pictureOf(compiled); err != nil {
			return nil, err
		}
	}
	if ctx.String(ui.FlagRun) == "" {
		return drawn, nil
	}
	client, err := c.Connect(ctx)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ref, err := refs.Of(client).DAG(ctx.Context, ctx.String(ui.FlagRun))
	if err != nil {
		return nil, err
	}
	return pictureOfRun(ctx.Context, client.Runs(), ref, drawn)
}

func pictureOf(compiled *spec.Compiled) (*draw.Picture, error) {
	graph := compiled.Graph
	program, err := spec.Open(dag.NewRun(graph, dag.Options{}))
	if err != nil {
		return nil, err
	}
	drawn := &draw.Picture{Title: compiled.Header.Name, Tasks: make([]draw.Task, 0, graph.Len())}
	for i := range dag.Index(graph.Len()) {
		definition, err := program.Definition(i)
		if err != nil {
			return nil, err
		}
		task := draw.Task{ID: graph.ID(i), Kind: string(definition.Kind)}
		if rule := graph.Rule(i); rule != dag.AllSuccess {
			task.Rule = rule.String()
		}
		for _, need := range graph.Needs(i) {
			task.Needs = append(task.Needs, graph.ID(need))
		}
		drawn.Tasks = append(drawn.Tasks, task)
	}
	return drawn, nil
}

type dagPictures interface {
	itemLister
	Show(ctx context.Context, ref starter.RunRef) (starter.Snapshot, error)
}

// pictureOfRun draws a run. With a spec it draws the tasks of the spec, including those that the run lacks.
func pictureOfRun(ctx context.Context, client dagPictures, ref starter.RunRef, declared *draw.Picture) (*draw.Picture, error) {
	snapshot, err := client.Show(ctx, ref)
	if err != nil {
		return nil, err
	}
	drawn := &draw.Picture{Title: snapshot.DAG, Subtitle: fmt.Sprintf("%s (%s)", ref.WorkflowID, dagOutcome(snapshot)), Run: true}
	views, _, err := client.Items(ctx, ref, starter.ItemFilter{Limit: starter.All})
	if err != nil {
		return nil, err
	}
	known := map[string]int{}
	if declared != nil {
		drawn.Tasks = declared.Tasks
		for i, task := range drawn.Tasks {
			known[task.ID] = i
		}
	}
	for _, view := range views {
		task := draw.Task{ID: view.ID, Needs: view.Needs, Kind: view.Kind, State: view.State, Note: cmp.Or(view.Error, view.Waiting)}
		if i, ok := known[view.ID]; ok {
			task.Rule = drawn.Tasks[i].Rule
			drawn.Tasks[i] = task
		} else {
			drawn.Tasks = append(drawn.Tasks, task)
		}
	}
	return drawn, nil
}
