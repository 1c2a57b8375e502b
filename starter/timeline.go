package starter

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// MaxTimed bounds the tasks of a run for [Runs.Timeline], which reads the whole history for at most ten seconds.
const MaxTimed = 2000

// Timeline adds facts from the history to the tasks of a run, and sorts them by start. An error means that some times
// are missing.
func (r Runs) Timeline(ctx context.Context, run Snapshot, tasks []Item) ([]Item, error) {
	found, err := r.histories(ctx, run.RunRef, tasks, func(map[string]*ItemHistory) bool { return false })
	if err != nil {
		err = fmt.Errorf("not all times of %s are known: %w", run.WorkflowID, runError(run.RunRef, err))
	}
	timed := slices.Clone(tasks)
	at := map[string]int{}
	for i := range timed {
		at[timed[i].ID] = i
		if timed[i].FromRun == "" { // The other run's history has its work.
			timed[i] = timed[i].with(*found[timed[i].ID])
		}
	}
	for i := range timed {
		timed[i].ReadyAt = readyAt(timed[i], run.Started, timed, at)
		if timed[i].Decision != nil && timed[i].StartedAt.IsZero() {
			timed[i].StartedAt = timed[i].ReadyAt // It has waited for a person since then.
		}
	}
	slices.SortStableFunc(timed, func(a, b Item) int {
		if a.StartedAt.IsZero() != b.StartedAt.IsZero() {
			return b.StartedAt.Compare(a.StartedAt)
		}
		return a.StartedAt.Compare(b.StartedAt)
	})
	return timed, err
}

func (i Item) with(history ItemHistory) Item {
	for k := range history.Requests {
		switch history.Requests[k].Action {
		case contract.UpdateApprove, contract.UpdateReject, contract.UpdateSkipTask:
			i.Decision = &history.Requests[k]
		}
	}
	history.Times(&i.StartedAt, &i.EndedAt, i.State)
	if len(history.Attempts) == 0 && i.Decision != nil && i.Ended() && i.EndedAt.IsZero() {
		i.EndedAt = i.Decision.At
	}
	if history.Result != nil && (i.State == contract.JobCompleted || i.State == contract.JobWarning) {
		i.Summary = cmp.Or(i.Summary, history.Result.Summary)
		if len(i.Value) == 0 && len(history.Result.Data) > 0 {
			if data, err := json.Marshal(history.Result.Data); err == nil { // It was decoded from JSON.
				i.Value = data
			}
		}
	}
	return i
}

// readyAt is zero if a need is not in the list or its end is unknown.
func readyAt(task Item, started time.Time, tasks []Item, at map[string]int) time.Time {
	ready := started
	for _, id := range task.Needs {
		k, known := at[id]
		if !known || tasks[k].EndedAt.IsZero() {
			return time.Time{}
		}
		if tasks[k].EndedAt.After(ready) {
			ready = tasks[k].EndedAt
		}
	}
	return ready
}
