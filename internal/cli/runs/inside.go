package runs

import (
	"context"
	"fmt"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

const maxInside = 3

type insideRun struct {
	Run   string         `json:"run"`
	Items []starter.Item `json:"items"`
	Total int            `json:"total"`

	snapshot starter.Snapshot
}

func (c *commands) inside(ctx context.Context, client *starter.Client, snapshot starter.Snapshot) (list []insideRun) {
	if snapshot.Group == nil || snapshot.Group.DAG == "" {
		return nil
	}
	jobs, _, err := client.Runs().Items(ctx, snapshot.RunRef, starter.ItemFilter{States: []string{contract.JobRunning}, Limit: maxInside})
	c.Note(err)
	for _, job := range jobs {
		ref := starter.RunRef{WorkflowID: contract.SubDAGWorkflowID(snapshot.WorkflowID, job.ID)}
		tasks, total, err := client.Runs().Items(ctx, ref, starter.ItemFilter{Limit: mostShown})
		if err != nil {
			c.Note(err)
			continue
		}
		below, err := client.Runs().Show(ctx, ref)
		c.Note(err)
		list = append(list, insideRun{Run: ref.WorkflowID, Items: starter.Listed(tasks), Total: total, snapshot: below})
	}
	return list
}

func (c *commands) printInside(list []insideRun) {
	for _, inside := range list {
		fmt.Fprintln(c.Env.Stdout)
		shown := &ui.Fields{}
		shown.Add("tasks of", ui.Text(inside.Run))
		c.addDAG(shown, inside.snapshot)
		shown.Write(c.Env.Stdout, c.Env.Colors())
		fmt.Fprintln(c.Env.Stdout)
		c.printItems(inside.Items, inside.Total, "it has no tasks yet", false)
	}
}
