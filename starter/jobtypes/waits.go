package jobtypes

import (
	"context"

	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter"
)

// maxWaits bounds the open runs of a list that are queried. Further ones count as running.
const maxWaits = 100

// addWaits marks job types whose open runs all wait. A run without an answer counts as running.
func (c Client) addWaits(ctx context.Context, types []JobType) {
	var open []starter.Run
	var of []int
	for i, known := range types {
		if len(open)+len(known.Running) > maxWaits {
			break
		}
		for _, run := range known.Running { // Without the run id: the group may have continued as new.
			open, of = append(open, starter.Run{RunRef: starter.RunRef{WorkflowID: run.WorkflowID}, Status: starter.StatusRunning}), append(of, i)
		}
	}
	c.client.Runs().AddCounts(ctx, open)
	runs := make([][]starter.Run, len(types))
	for k, run := range open {
		runs[of[k]] = append(runs[of[k]], run)
	}
	for i := range types {
		types[i].waits = waitOf(runs[i])
	}
}

// waitOf returns the standing of the first run if all wait. A paused run whose jobs still run does not wait.
func waitOf(runs []starter.Run) *explain.RunStanding {
	for _, run := range runs {
		if !run.Standing.Waits() || run.Progress != nil && run.Progress.Running > 0 {
			return nil
		}
	}
	if len(runs) == 0 {
		return nil
	}
	return &runs[0].Standing
}
