package dag

import (
	"cmp"
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/draw"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/refs"
)

// Gantt draws the ready, start and end times of the tasks of a run. It is a format besides [draw.Formats].
const Gantt = "gantt"

// Formats are the formats of pictures.
func Formats() []string {
	return append(ui.Names(draw.Formats(), func(format draw.Format) string { return string(format) }), Gantt)
}

// DrawFile draws a DAG in the format of --output.
func DrawFile(p *ui.Program, ctx *cli.Context, file string) error {
	if ctx.String(ui.FlagOutput) == Gantt {
		return ui.Usagef("%s has no times: -o %s draws a run", file, Gantt)
	}
	compiled, err := (&commands{p}).compileSpec(file, nil)
	if err != nil {
		return err
	}
	picture, err := pictureOf(compiled)
	if err != nil {
		return err
	}
	return write(p, ctx, picture)
}

// DrawRun draws a run with the states of its tasks. around is a task to draw with its needs and its dependents; empty draws all.
func DrawRun(p *ui.Program, ctx *cli.Context, client *starter.Client, run, around string) error {
	ref, err := refs.Of(client).DAG(ctx.Context, run)
	if err != nil {
		return err
	}
	if ctx.String(ui.FlagOutput) == Gantt {
		return gantt(p, ctx, client, ref, around)
	}
	picture, err := pictureOfRun(ctx.Context, client.Runs(), ref)
	if err != nil {
		return err
	}
	if around != "" {
		if err := picture.Around(around); err != nil {
			return ui.Faulty(err)
		}
	}
	return write(p, ctx, picture)
}

func write(p *ui.Program, ctx *cli.Context, picture *draw.Picture) error {
	return picture.Draw(p.Env.Stdout, draw.Format(ctx.String(ui.FlagOutput)))
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

func pictureOfRun(ctx context.Context, client dagPictures, ref starter.RunRef) (*draw.Picture, error) {
	snapshot, err := client.Show(ctx, ref)
	if err != nil {
		return nil, err
	}
	drawn := &draw.Picture{Title: snapshot.DAG, Subtitle: fmt.Sprintf("%s (%s)", ref.WorkflowID, dagOutcome(snapshot)), Run: true}
	views, _, err := client.Items(ctx, ref, starter.ItemFilter{Limit: starter.All})
	if err != nil {
		return nil, err
	}
	for _, view := range views {
		drawn.Tasks = append(drawn.Tasks, draw.Task{ID: view.ID, Needs: view.Needs, Kind: view.Kind, State: view.State, Note: cmp.Or(view.Error, view.Waiting)})
	}
	return drawn, nil
}
