package itemlist

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

// MaxSorted bounds the items of a sorted list, since sorting reads them all.
const MaxSorted = 20_000

// The orders of items.
const (
	ByKey     = "key"
	ByState   = "state"
	ByWorker  = "worker"
	ByAttempt = "attempt"
	ByTook    = "took"
	ByEnded   = "ended"
)

// descending is written before an order.
const descending = "-"

// TooManyError refuses to sort the items of a large run.
type TooManyError struct{ Items int }

// Error implements error.
func (e *TooManyError) Error() string {
	return fmt.Sprintf("%d items match, and at most %d are sorted or chosen by time: choose fewer by state or text", e.Items, MaxSorted)
}

// Filter chooses items of a run.
type Filter struct {
	starter.ItemFilter
	// Find keeps the jobs with this number, id or dedupe key, and the tasks with this id.
	Find string
	// Sort is an order, with - before it for the other direction; empty: the order of the run.
	Sort string
	// Since and Until keep the items that ran in this time; zero: no bound.
	Since, Until time.Time
}

func (f Filter) bounded() bool { return !f.Since.IsZero() || !f.Until.IsZero() }

func (f Filter) ran(item starter.Item) bool {
	switch {
	case !f.bounded():
		return true
	case item.StartedAt.IsZero() || !f.Until.IsZero() && item.StartedAt.After(f.Until):
		return false
	}
	return item.EndedAt.IsZero() || !item.EndedAt.Before(f.Since)
}

// List returns the chosen items, and their total.
func List(ctx context.Context, runs starter.Runs, ref starter.RunRef, filter Filter, now time.Time) ([]starter.Item, int, error) {
	if filter.Find == "" && filter.Sort == "" && !filter.bounded() {
		return runs.Items(ctx, ref, filter.ItemFilter)
	}
	all, err := whole(ctx, runs, ref, filter)
	if err != nil {
		return nil, 0, err
	}
	all = slices.DeleteFunc(all, func(item starter.Item) bool { return !filter.ran(item) })
	if filter.Sort != "" {
		slices.SortStableFunc(all, order(filter.Sort, now))
	}
	total := len(all)
	return filter.Page(all), total, nil
}

func whole(ctx context.Context, runs starter.Runs, ref starter.RunRef, filter Filter) ([]starter.Item, error) {
	asked := filter.Whole(MaxSorted)
	if filter.Find != "" {
		return found(ctx, runs, ref, asked, filter.Find)
	}
	// The count comes first, so that a run with too many items is not read.
	one := asked
	one.Limit = 1
	_, total, err := runs.Items(ctx, ref, one)
	if err != nil {
		return nil, err
	}
	if total > MaxSorted {
		return nil, &TooManyError{Items: total}
	}
	all, _, err := runs.Items(ctx, ref, asked)
	return all, err
}

func found(ctx context.Context, runs starter.Runs, ref starter.RunRef, asked starter.ItemFilter, text string) ([]starter.Item, error) {
	byKey := asked
	byKey.DedupeKey = text
	all, _, err := runs.Items(ctx, ref, byKey)
	id := idOf(ref, text)
	if err != nil || id == "" {
		return all, err
	}
	asked.ID = id
	named, _, err := runs.Items(ctx, ref, asked)
	for _, item := range named {
		if !slices.ContainsFunc(all, func(other starter.Item) bool { return other.ID == item.ID }) {
			all = append(all, item)
		}
	}
	return all, err
}

// idOf is the id of an item in text; empty: text has none.
func idOf(ref starter.RunRef, text string) string {
	if ref.Kind() == starter.KindDAG {
		return text
	}
	if number, err := strconv.Atoi(text); err == nil && number > 0 {
		return contract.JobID(number)
	}
	if number, is := contract.JobNumber(text); is {
		return contract.JobID(number)
	}
	return ""
}

// Items without a value come last in both directions.
func order(sort string, now time.Time) func(a, b starter.Item) int {
	name, down := strings.CutPrefix(sort, descending)
	compare := func(a, b starter.Item) int { return cmp.Compare(nameOf(a), nameOf(b)) }
	missing := func(starter.Item) bool { return false }
	switch name {
	case ByState:
		compare = func(a, b starter.Item) int { return cmp.Compare(a.State, b.State) }
	case ByWorker:
		compare = func(a, b starter.Item) int { return cmp.Compare(a.Worker, b.Worker) }
		missing = func(item starter.Item) bool { return item.Worker == "" }
	case ByAttempt:
		compare = func(a, b starter.Item) int { return cmp.Compare(a.Attempt, b.Attempt) }
		missing = func(item starter.Item) bool { return item.Attempt == 0 }
	case ByTook:
		compare = func(a, b starter.Item) int { return cmp.Compare(took(a, now), took(b, now)) }
		missing = func(item starter.Item) bool { return item.StartedAt.IsZero() }
	case ByEnded:
		compare = func(a, b starter.Item) int { return a.EndedAt.Compare(b.EndedAt) }
		missing = func(item starter.Item) bool { return item.EndedAt.IsZero() }
	}
	return func(a, b starter.Item) int {
		switch {
		case missing(a) != missing(b):
			if missing(a) {
				return 1
			}
			return -1
		case down:
			return compare(b, a)
		}
		return compare(a, b)
	}
}

func nameOf(item starter.Item) string { return cmp.Or(item.DedupeKey, item.ID) }

func took(item starter.Item, now time.Time) time.Duration {
	if item.EndedAt.IsZero() {
		return now.Sub(item.StartedAt)
	}
	return item.EndedAt.Sub(item.StartedAt)
}
