package starter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/internal/engine/action"
)

// ItemByKey returns the job of a run with this dedupe key, or the one task with it.
func (r Runs) ItemByKey(ctx context.Context, ref RunRef, key string) (Item, error) {
	items, total, err := r.Items(ctx, ref, ItemFilter{DedupeKey: key, Limit: namedMatches})
	if err != nil {
		return Item{}, err
	}
	return OfKey(ref.WorkflowID, key, items, total)
}

// namedMatches is how many tasks the error about several of them names.
const namedMatches = 10

// OfKey chooses the item with a key. Several tasks of a DAG are an error: an action on the wrong task cannot be undone.
func OfKey(workflowID, key string, items []Item, total int) (Item, error) {
	if len(items) == 0 {
		return Item{}, &NotFoundError{What: "job with key", Name: key, Hint: action.See(action.ListItems, action.Args{"run": workflowID})}
	}
	if total > 1 && items[0].Kind != KindJob {
		var named []string
		for _, item := range items[:min(len(items), namedMatches)] {
			named = append(named, ItemRef{Run: RunRef{WorkflowID: workflowID}, ID: item.ID}.String())
		}
		more := ""
		if left := total - len(named); left > 0 {
			more = fmt.Sprintf("\n  and %d more", left)
		}
		return Item{}, Invalidf("the key %s means %d tasks: write RUN/TASK for one of them:\n  %s%s", key, total, strings.Join(named, "\n  "), more)
	}
	// Without the run's own id, since the run may continue as new.
	items[0].Run = RunRef{WorkflowID: workflowID}
	return items[0], nil
}

// ItemSearch narrows [Runs.Search].
type ItemSearch struct {
	// Runs selects the runs to search; the newest first, at most Runs.Limit.
	Runs RunFilter
	// As in [ItemFilter]. Worker keeps the items that this worker runs or ran last.
	States            []string
	DedupeKey, Worker string
	// Partly leaves out items of one run.
	Partly Partly
	// Limit is the most items returned. Default 200.
	Limit int
}

// Search lists items of several runs, newest run first. The error names the runs that did not answer.
func (r Runs) Search(ctx context.Context, search ItemSearch) ([]Item, error) {
	runs, err := r.List(ctx, search.Runs)
	if err != nil {
		return nil, err
	}
	return r.SearchAmong(ctx, DistinctRuns(runs), search)
}

// DistinctRuns keeps the first run of each workflow id. A run that was started again or reset has several, and one state.
func DistinctRuns(runs []Run) []Run {
	known := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(runs), func(run Run) bool {
		again := known[run.WorkflowID]
		known[run.WorkflowID] = true
		return again
	})
}

// SearchAmong is [Runs.Search] in these runs, which are distinct.
func (r Runs) SearchAmong(ctx context.Context, runs []Run, search ItemSearch) ([]Item, error) {
	found, faults := make([][]Item, len(runs)), make([]error, len(runs))
	limit := cmp.Or(search.Limit, itemsLimit)
	var asking errgroup.Group
	asking.SetLimit(countParallel)
	for i, run := range runs {
		asking.Go(func() error {
			filter := ItemFilter{
				States: search.States, DedupeKey: search.DedupeKey, Worker: search.Worker, Limit: min(limit, searchedItems), First: true,
			}
			if run.RunID == search.Partly.RunID {
				filter.Offset = search.Partly.Items
			}
			var err error
			found[i], _, err = r.Items(ctx, RunRef{WorkflowID: run.WorkflowID}, filter)
			if err != nil {
				faults[i] = fmt.Errorf("run %s was not searched: %w", run.WorkflowID, err)
			}
			return nil
		})
	}
	_ = asking.Wait() // Errors are in faults.
	all := slices.Concat(found...)
	return all[:min(len(all), limit)], errors.Join(faults...)
}

// Partly is a run, and the number of its found items that are on earlier pages.
type Partly struct {
	RunID string `json:"run"`
	Items int    `json:"items"`
}

// searchedItems bounds the items of one run that a search returns.
const searchedItems = 10_000
