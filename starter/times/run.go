package times

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/starter"
)

// MaxBars bounds the items of one answer.
const MaxBars = 20_000

// RunTimes holds when the items of a run ran.
type RunTimes struct {
	// From is the start of the run. Until is its end, or the deadline of an open run; zero if it has none.
	From  time.Time `json:"from"`
	Until time.Time `json:"until,omitzero"`
	Open  bool      `json:"open"`
	// Total counts all items, Waiting those that have not begun.
	Total   int `json:"total"`
	Waiting int `json:"waiting"`
	// LeftOut counts items that were not read.
	LeftOut int      `json:"left_out,omitempty"`
	Bars    ItemBars `json:"bars"`
	// Earlier has the attempts before the last ones; empty for jobs and for runs with many tasks.
	Earlier []EarlierAttempt `json:"earlier,omitempty"`
}

// EarlierAttempt is an attempt at a task before its last one.
type EarlierAttempt struct {
	// Item is a position in the bars.
	Item    int    `json:"item"`
	Attempt int    `json:"attempt"`
	EndedAs string `json:"ended_as"`
	Worker  string `json:"worker,omitempty"`
	FromMS  int64  `json:"from_ms"`
	TookMS  int64  `json:"took_ms"`
}

// timedWhileOpen bounds the tasks of an open run whose history is read for each picture.
const timedWhileOpen = 200

type historiesOf func(context.Context, starter.RunRef, []starter.Item) (map[string]*starter.ItemHistory, error)

// earlierOf reads the attempts before the last ones. After a failure it returns those that were read.
func earlierOf(ctx context.Context, read historiesOf, run starter.Snapshot, items []starter.Item, bars ItemBars) []EarlierAttempt {
	most := starter.MaxTimed
	if run.Open() {
		most = timedWhileOpen
	}
	again := slices.DeleteFunc(slices.Clone(items), func(item starter.Item) bool { return item.Attempt < 2 || item.FromRun != "" })
	if run.Kind != starter.KindDAG || len(items) > most || len(again) == 0 {
		return nil
	}
	histories, _ := read(ctx, run.RunRef, again) // The bars are right without the rest.
	var earlier []EarlierAttempt
	for at, id := range bars.ID {
		history := histories[id]
		if history == nil || len(history.Attempts) == 0 {
			continue
		}
		for _, attempt := range history.Attempts[:len(history.Attempts)-1] {
			if attempt.StartedAt.IsZero() || attempt.EndedAt.IsZero() {
				continue
			}
			earlier = append(earlier, EarlierAttempt{
				Item: at, Attempt: attempt.Number, EndedAs: attempt.EndedAs, Worker: attempt.Worker,
				FromMS: attempt.StartedAt.Sub(run.Started).Milliseconds(), TookMS: attempt.EndedAt.Sub(attempt.StartedAt).Milliseconds(),
			})
		}
	}
	return earlier
}

// ItemBars are items that have begun, as columns: entry i of each list belongs to one item.
type ItemBars struct {
	ID []string `json:"id"`
	// Key is the dedupe key of a job; empty for tasks.
	Key []string `json:"key,omitempty"`
	// States and Workers are the values to which State and Worker point.
	States  []string `json:"states"`
	Workers []string `json:"workers"`
	State   []int    `json:"state"`
	// Worker is -1 for an item without a worker.
	Worker  []int `json:"worker"`
	Attempt []int `json:"attempt"`
	// FromMS is the start of the last attempt in milliseconds after the start of the run.
	FromMS []int64 `json:"from_ms"`
	// TookMS is the duration in milliseconds; -1: it still runs.
	TookMS []int64 `json:"took_ms"`
	// MayTakeMS is the longest duration of the attempt; 0: it has ended, or has no limit. Empty for jobs.
	MayTakeMS []int64 `json:"may_take_ms,omitempty"`
	// Asks has the positions of the items that wait for a person.
	Asks []int `json:"asks,omitempty"`
}

// OfRun reads when the items of a run ran. A run with more than [MaxBars] items is read in part.
func OfRun(ctx context.Context, runs starter.Runs, ref starter.RunRef) (RunTimes, error) {
	run, err := runs.Show(ctx, ref)
	if err != nil {
		return RunTimes{}, err
	}
	items, total, err := runs.Items(ctx, ref, starter.ItemFilter{Limit: MaxBars})
	if err != nil {
		return RunTimes{}, err
	}
	found := RunTimes{From: run.Started, Until: run.Ended, Open: run.Open(), Total: total, LeftOut: total - len(items)}
	if found.Open {
		found.Until = run.Deadline
	}
	found.Bars, found.Waiting = barsOf(items, run.Started)
	found.Earlier = earlierOf(ctx, runs.Histories, run, items, found.Bars)
	return found, nil
}

func barsOf(items []starter.Item, from time.Time) (bars ItemBars, waiting int) {
	bars = ItemBars{ID: []string{}, States: []string{}, Workers: []string{}, State: []int{}, Worker: []int{}, Attempt: []int{}, FromMS: []int64{}, TookMS: []int64{}}
	states, workers := table{}, table{}
	for _, item := range items {
		began, took, is := spanOf(item)
		if !is {
			waiting++
			continue
		}
		if item.Kind == string(spec.KindApproval) && took < 0 {
			bars.Asks = append(bars.Asks, len(bars.ID))
		}
		bars.ID = append(bars.ID, item.ID)
		if item.Kind == starter.KindJob {
			bars.Key = append(bars.Key, item.DedupeKey)
		} else {
			bars.MayTakeMS = append(bars.MayTakeMS, mayTake(item, began, took))
		}
		bars.State = append(bars.State, states.of(item.State, &bars.States))
		bars.Worker = append(bars.Worker, workers.of(item.Worker, &bars.Workers))
		bars.Attempt = append(bars.Attempt, item.Attempt)
		bars.FromMS = append(bars.FromMS, began.Sub(from).Milliseconds())
		bars.TookMS = append(bars.TookMS, took)
	}
	return bars, waiting
}

func mayTake(item starter.Item, began time.Time, took int64) int64 {
	switch {
	case took >= 0:
		return 0
	case !item.Until.IsZero():
		return item.Until.Sub(began).Milliseconds()
	}
	return item.Timeout.Std().Milliseconds()
}

// An item that ended without an attempt, or whose result comes from an earlier run, has no span.
func spanOf(item starter.Item) (began time.Time, took int64, is bool) {
	if item.StartedAt.IsZero() || item.FromRun != "" {
		return time.Time{}, 0, false
	}
	if item.EndedAt.IsZero() {
		return item.StartedAt, -1, !item.Ended()
	}
	return item.StartedAt, max(item.EndedAt.Sub(item.StartedAt).Milliseconds(), 0), true
}

type table map[string]int

func (t table) of(name string, names *[]string) int {
	if name == "" {
		return -1
	}
	at, known := t[name]
	if !known {
		at = len(*names)
		t[name], *names = at, append(*names, name)
	}
	return at
}

// WorkedItem is an item that a worker ran last.
type WorkedItem struct {
	WorkflowID string `json:"workflow_id"`
	// Name is the job type or the DAG of the run.
	Name      string    `json:"name"`
	ID        string    `json:"id"`
	Key       string    `json:"dedupe_key,omitempty"`
	State     string    `json:"state"`
	Attempt   int       `json:"attempt"`
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
}

// WorkerTimes holds the items of a worker.
type WorkerTimes struct {
	Since time.Time `json:"since"`
	// Start of the oldest run that was read; zero if all were.
	SearchedSince time.Time `json:"searched_since,omitzero"`
	// Work is newest first. LeftOut counts older items.
	Work    []WorkedItem `json:"work"`
	LeftOut int          `json:"left_out,omitempty"`
	// Missed lists runs that did not answer, or were read in part.
	Missed string `json:"missed,omitempty"`
}

const (
	searchedRuns   = 20
	searchedItems  = 10_000
	searchedAtOnce = 4
	// maxWork bounds the items of one worker in an answer.
	maxWork = 5000
)

// OfWorker reads the items that a worker ran in the newest runs since then, and in the newest open runs.
func OfWorker(ctx context.Context, runs starter.Runs, id string, since time.Time) (WorkerTimes, error) {
	found := WorkerTimes{Since: since, Work: []WorkedItem{}}
	newest, err := runs.List(ctx, starter.RunFilter{Since: since, Limit: searchedRuns + 1, SubDAGs: true})
	if err != nil {
		return found, err
	}
	newest, found.SearchedSince = searched(newest)
	open, err := runs.List(ctx, starter.RunFilter{Running: true, Limit: searchedRuns, SubDAGs: true})
	if err != nil {
		return found, err
	}
	newest = withOpen(newest, open)
	work, faults := make([][]WorkedItem, len(newest)), make([]error, len(newest))
	var asking errgroup.Group
	asking.SetLimit(searchedAtOnce)
	for i, run := range newest {
		asking.Go(func() error {
			items, total, err := runs.Items(ctx, starter.RunRef{WorkflowID: run.WorkflowID}, starter.ItemFilter{Worker: id, Limit: searchedItems})
			if err == nil && total > len(items) {
				err = fmt.Errorf("the first %d of %d items were read", len(items), total)
			}
			if err != nil {
				faults[i] = fmt.Errorf("run %s: %w", run.WorkflowID, err)
			}
			work[i] = workOf(items, run.WorkflowID, id)
			return nil
		})
	}
	_ = asking.Wait() // Errors are in faults.
	found.Work = append(found.Work, slices.Concat(work...)...)
	if err := errors.Join(faults...); err != nil {
		if len(found.Work) == 0 {
			return found, err
		}
		found.Missed = err.Error()
	}
	slices.SortStableFunc(found.Work, func(a, b WorkedItem) int { return b.StartedAt.Compare(a.StartedAt) })
	found.LeftOut = max(0, len(found.Work)-maxWork)
	found.Work = found.Work[:len(found.Work)-found.LeftOut]
	return found, nil
}

func searched(newest []starter.Run) ([]starter.Run, time.Time) {
	if len(newest) <= searchedRuns {
		return newest, time.Time{}
	}
	newest = newest[:searchedRuns]
	return newest, newest[searchedRuns-1].Started
}

// withOpen adds open runs: many runs may have begun after them.
func withOpen(newest, open []starter.Run) []starter.Run {
	for i := range open {
		if !slices.ContainsFunc(newest, func(run starter.Run) bool { return run.WorkflowID == open[i].WorkflowID }) {
			newest = append(newest, open[i])
		}
	}
	return newest
}

// workOf keeps no other items in memory.
func workOf(items []starter.Item, workflowID, worker string) (work []WorkedItem) {
	for _, item := range items {
		began, took, is := spanOf(item)
		if !is || item.Worker != worker {
			continue
		}
		one := WorkedItem{WorkflowID: workflowID, Name: starter.NameOfRun(workflowID), ID: item.ID, Key: item.DedupeKey, State: item.State, Attempt: item.Attempt, StartedAt: began}
		if took >= 0 {
			one.EndedAt = item.EndedAt
		}
		work = append(work, one)
	}
	return work
}
