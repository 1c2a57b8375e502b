package dag

import (
	"cmp"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/draw"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/refs"
)

const flagGantt = "gantt"

func (c *commands) gantt(ctx *cli.Context) error {
	client, err := c.Connect(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	ref, err := refs.Of(client).DAG(ctx.Context, ctx.String(ui.FlagRun))
	if err != nil {
		return err
	}
	snapshot, err := client.Runs().Show(ctx.Context, ref)
	if err != nil {
		return err
	}
	tasks, _, err := client.Runs().Items(ctx.Context, ref, starter.ItemFilter{Limit: starter.All})
	if err != nil {
		return err
	}
	if tasks, err = client.Runs().Timeline(ctx.Context, snapshot, tasks); err != nil {
		return err
	}
	bars := make([]draw.Bar, len(tasks))
	for i, task := range tasks {
		bars[i] = draw.Bar{ID: task.ID, State: task.State, Note: noteOf(task), Ready: task.ReadyAt, Began: task.StartedAt, Ended: task.EndedAt}
	}
	heading := fmt.Sprintf("%s (%s)", ref.WorkflowID, dagOutcome(snapshot))
	out, drawn := ctx.String("out"), 0
	write := func(w io.Writer) error {
		drawn, err = draw.Gantt(w, heading, bars, c.Env.Now())
		return err
	}
	if out == "" || out == ui.StdinName {
		return write(c.Env.Stdout)
	}
	if err := writeWhole(out, write); err != nil {
		return err
	}
	c.Print("wrote %s: %s of %d", out, ui.Plural(drawn, "task"), len(tasks))
	return nil
}

func noteOf(task starter.Item) string {
	if task.Decision != nil {
		return task.Decision.String()
	}
	return cmp.Or(task.Error, task.Waiting, task.Summary)
}
