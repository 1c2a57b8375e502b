package dag

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/draw"
	"github.com/roundsman/roundsman/starter"
)

// gantt draws the times of all tasks, or around one task.
func gantt(p *ui.Program, ctx *cli.Context, client *starter.Client, ref starter.RunRef, around string) error {
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
	if tasks, err = tasksAround(snapshot.DAG, tasks, around); err != nil {
		return err
	}
	bars := make([]draw.Bar, len(tasks))
	for i, task := range tasks {
		bars[i] = draw.Bar{ID: task.ID, State: task.State, Note: noteOf(task), Ready: task.ReadyAt, Began: task.StartedAt, Ended: task.EndedAt}
	}
	heading := fmt.Sprintf("%s (%s)", ref.WorkflowID, dagOutcome(snapshot))
	return draw.Gantt(p.Env.Stdout, heading, bars, p.Env.Now())
}

func tasksAround(name string, tasks []starter.Item, around string) ([]starter.Item, error) {
	if around == "" {
		return tasks, nil
	}
	picture := &draw.Picture{Title: name}
	for _, task := range tasks {
		picture.Tasks = append(picture.Tasks, draw.Task{ID: task.ID, Needs: task.Needs})
	}
	if err := picture.Around(around); err != nil {
		return nil, ui.Faulty(err)
	}
	kept := make(map[string]bool, len(picture.Tasks))
	for _, task := range picture.Tasks {
		kept[task.ID] = true
	}
	return slices.DeleteFunc(slices.Clone(tasks), func(task starter.Item) bool { return !kept[task.ID] }), nil
}

func noteOf(task starter.Item) string {
	if task.Decision != nil {
		return task.Decision.String()
	}
	return cmp.Or(task.Error, task.Waiting, task.Summary)
}
