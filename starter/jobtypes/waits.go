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
	standings := make([][]explain.RunStanding, len(types))
	for k, run := range open {
		standings[of[k]] = append(standings[of[k]], run.Standing)
	}
	for i := range types {
		types[i].waits = waitOf(standings[i])
	}
}

// waitOf returns the standing of the first run if all wait.
func waitOf(runs []explain.RunStanding) *explain.RunStanding {
	for _, run := range runs {
		if !run.Waits() {
			return nil
		}
	}
	if len(runs) == 0 {
		return nil
	}
	return &runs[0]
}
