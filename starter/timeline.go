package starter

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// MaxTimed is up to how many tasks a run may have for [Runs.Timeline] to be worth
// asking: the history of the run is read as a whole, for at most ten seconds.
const MaxTimed = 2000

// Timeline adds to the tasks of a run of a DAG what only its history knows: when they
// were ready, began and ended, what operators decided, and what those returned that
// nothing refers to. They come back in the order in which they began; what never did
// comes last. An error says that some times are not known.
func (r Runs) Timeline(ctx context.Context, run Snapshot, tasks []Item) ([]Item, error) {
	found, err := r.histories(ctx, run.RunRef, tasks, func(map[string]*ItemHistory) bool { return false })
	if err != nil {
		err = fmt.Errorf("not all times of %s are known: %w", run.WorkflowID, runError(run.RunRef, err))
	}
	timed := slices.Clone(tasks)
	at := map[string]int{}
	for i := range timed {
		at[timed[i].ID] = i
		if timed[i].FromRun == "" { // The work of another run is in that one's history.
			timed[i] = timed[i].with(*found[timed[i].ID])
		}
	}
	for i := range timed {
		timed[i].ReadyAt = readyAt(timed[i], run.Started, timed, at)
		if timed[i].Decision != nil && timed[i].StartedAt.IsZero() {
			timed[i].StartedAt = timed[i].ReadyAt // It waited for a person from then on.
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

// with fills in what a history knows and the item does not.
func (i Item) with(history ItemHistory) Item {
	for k := range history.Requests {
		switch history.Requests[k].Action {
		case contract.UpdateApprove, contract.UpdateReject, contract.UpdateSkipTask:
			i.Decision = &history.Requests[k]
		}
	}
	history.Times(&i.StartedAt, &i.EndedAt, i.Ended())
	if len(history.Attempts) == 0 && i.Decision != nil && i.Ended() && i.EndedAt.IsZero() {
		i.EndedAt = i.Decision.At
	}
	if history.Result != nil && (i.State == contract.JobCompleted || i.State == contract.JobWarning) {
		if i.Summary == "" {
			i.Summary = history.Result.Summary
		}
		if len(i.Value) == 0 && len(history.Result.Data) > 0 {
			if data, err := json.Marshal(history.Result.Data); err == nil { // It was JSON before.
				i.Value = data
			}
		}
	}
	return i
}

// readyAt is when the last of the tasks that one needs had ended; zero: one of them is
// not among them, or its end is not known.
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
