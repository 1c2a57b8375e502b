package console

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/starter"
)

type graphView struct {
	ctx     context.Context //nolint:containedctx // of one request
	client  *starter.Client
	picture starter.DAGPicture
	items   map[int]starter.Item
}

const mostLive = 1000

// live reads the start and the wait of running tasks, which only the run has.
func (v *graphView) live(counts map[string]int) {
	if !v.picture.Open || counts[contract.JobRunning] == 0 {
		return
	}
	items, _, err := v.client.Runs().Items(v.ctx, v.picture.RunRef, starter.ItemFilter{States: []string{contract.JobRunning}, Limit: mostLive})
	if err != nil {
		return // The boxes are shown without them.
	}
	for _, item := range items {
		if i, known := v.picture.Index(item.ID); known && v.picture.State(i) == item.State {
			v.items[i] = item
		}
	}
}

func (v *graphView) task(i int) starter.Item {
	item, known := v.items[i]
	if !known {
		item = v.picture.Task(i)
		v.items[i] = item
	}
	return item
}

func (v *graphView) tasks(of []int) []starter.Item {
	return lists.Map(of, v.task)
}

const mostSubDAGs = 16

// subDAGs adds the runs of sub-DAGs with their progress, as far as it can be read.
func (v *graphView) subDAGs(groups []group, boxes []Box) {
	var reads errgroup.Group
	reads.SetLimit(mostSubDAGs / 2)
	left := mostSubDAGs
	for k := range boxes {
		box := &boxes[k]
		if len(groups[k].tasks) > 1 || !isSubDAG(v.task(groups[k].tasks[0])) || box.StartedAt.IsZero() && box.EndedAt.IsZero() {
			continue
		}
		box.Run, box.Tasks, box.Ended, box.Failed = contract.SubDAGWorkflowID(v.picture.WorkflowID, box.ID), 0, 0, 0
		if left--; left < 0 {
			continue
		}
		reads.Go(func() error {
			run, err := v.client.Runs().Show(v.ctx, starter.RunRef{WorkflowID: box.Run})
			if err == nil && run.Progress != nil {
				box.Tasks, box.Ended, box.Failed = run.Progress.Total, run.Progress.Ended, run.Progress.Failed
			}
			return nil // Its progress stays unknown.
		})
	}
	_ = reads.Wait()
}
