package dag

import (
	"cmp"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/draw"
	"github.com/roundsman/roundsman/starter"
)

func gantt(p *ui.Program, ctx *cli.Context, client *starter.Client, ref starter.RunRef) error {
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
	return draw.Gantt(p.Env.Stdout, heading, bars, p.Env.Now())
}

func noteOf(task starter.Item) string {
	if task.Decision != nil {
		return task.Decision.String()
	}
	return cmp.Or(task.Error, task.Waiting, task.Summary)
}
