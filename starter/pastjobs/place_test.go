package pastjobs

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/record"
)

// group is an open group: states are those of the jobs that it holds, by number.
type group struct {
	states map[int]string
	pages  map[string][]byte
	table  []contract.RecordPage
}

func newGroup(jobs int, state string) *group {
	g := &group{states: map[int]string{}, pages: map[string][]byte{}}
	for n := range jobs {
		g.states[n+1] = state
	}
	return g
}

func (g *group) Get(_ context.Context, _, page string) ([]byte, error) { return g.pages[page], nil }

// store moves jobs to a new page of the record.
func (g *group) store(numbers ...int) {
	book, name := record.NewBook(), fmt.Sprint(len(g.table))
	for _, n := range numbers {
		book.Add(record.Job{N: n, State: contract.JobCompleted})
		delete(g.states, n)
	}
	g.pages[name] = book.Rest()
	g.table = append(g.table, contract.RecordPage{Page: name, First: slices.Min(numbers), Last: slices.Max(numbers), States: map[string]int{contract.JobCompleted: len(numbers)}})
}

func (g *group) held(f Filter, after, offset, limit int) (contract.JobsQueryResult, error) {
	result := contract.JobsQueryResult{Record: g.table}
	for n := range 5000 {
		if state := g.states[n]; state == "" || len(f.States) > 0 && !slices.Contains(f.States, state) {
			continue
		}
		if result.Total++; n > after && result.Total > offset && len(result.Jobs) < limit {
			result.Jobs = append(result.Jobs, contract.JobView{JobID: contract.JobID(n), State: g.states[n]})
		}
	}
	return result, nil
}

func (g *group) run() Run { return Run{ID: "r", Pages: g, Held: g.held} }

// closed is the group after its end: the jobs that it held are the rest of the record.
func (g *group) closed() Run {
	book := record.NewBook()
	for n := range g.states {
		book.Add(record.Job{N: n, State: contract.JobCanceled})
	}
	return Run{ID: "r", Pages: g, Held: None, Record: &contract.ItemRecord{Pages: g.table, Rest: book.Rest()}}
}

// walk lists all pages, and calls between before each other one.
func walk(t *testing.T, filter Filter, run func(page int) Run) (seen []int) {
	t.Helper()
	for page := 0; ; page++ {
		require.Less(t, page, 1000)
		jobs, _, err := List(t.Context(), run(page), filter)
		require.NoError(t, err)
		for _, j := range jobs {
			seen = append(seen, numberOf(j.JobView))
		}
		if len(jobs) < filter.Limit {
			return seen
		}
		filter.After = &jobs[len(jobs)-1].Place
	}
}

func numbers(first, last int) (list []int) {
	for n := first; n <= last; n++ {
		list = append(list, n)
	}
	return list
}

func requireEach(t *testing.T, seen []int, jobs int) {
	t.Helper()
	slices.Sort(seen)
	require.Equal(t, numbers(1, jobs), seen)
}

// TestPagesHaveEachJobOnce, also if jobs move to the record between two of them, or the run ends.
func TestPagesHaveEachJobOnce(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{7, 100, 300, 1000} {
		for name, between := range map[string]func(g *group, page int) Run{
			"nothing moves": func(g *group, _ int) Run { return g.run() },
			"the first 500 move": func(g *group, page int) Run {
				if page == 1 {
					g.store(append(numbers(1, 199), numbers(300, 600)...)...)
				}
				return g.run()
			},
			"some move before each page": func(g *group, page int) Run {
				for _, n := range []int{page*11 + 1, 1100 - page*7} {
					if g.states[n] != "" {
						g.store(n)
					}
				}
				return g.run()
			},
			"the run ends": func(g *group, page int) Run {
				if page == 0 {
					return g.run()
				}
				if page == 1 {
					g.store(numbers(5, 50)...)
				}
				return g.closed()
			},
			"the run has ended": func(g *group, _ int) Run { return g.closed() },
		} {
			t.Run(fmt.Sprint(name, " by ", limit), func(t *testing.T) {
				t.Parallel()
				g := newGroup(1200, contract.JobRunning)
				g.store(numbers(200, 299)...)
				requireEach(t, walk(t, Filter{Limit: limit}, func(page int) Run { return between(g, page) }), 1200)
			})
		}
	}
}

// TestNoPendingJobIsLeftOut, though others start between two pages, or between two queries for one.
func TestNoPendingJobIsLeftOut(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{50, 450} {
		g := newGroup(1000, contract.JobPending)
		start := func() {
			for n, left := 1, 40; left > 0 && n <= 500; n++ {
				if g.states[n] == contract.JobPending {
					g.states[n] = contract.JobRunning
					left--
				}
			}
		}
		run := g.run()
		run.Held = func(f Filter, after, offset, limit int) (contract.JobsQueryResult, error) {
			defer start()
			return g.held(f, after, offset, limit)
		}
		seen := walk(t, Filter{States: []string{contract.JobPending}, Limit: limit}, func(int) Run { return run })
		assert.True(t, slices.IsSorted(seen))
		assert.Subset(t, seen, numbers(501, 1000))
		for n := range 501 {
			if g.states[n] == contract.JobPending {
				assert.Contains(t, seen, n)
			}
		}
	}
}

// TestAPageCountsAllJobs, those before it, too.
func TestAPageCountsAllJobs(t *testing.T) {
	t.Parallel()
	g := newGroup(1200, contract.JobRunning)
	g.store(numbers(200, 299)...)
	filter := Filter{Limit: 90}
	for page := range 13 {
		jobs, total, err := List(t.Context(), g.run(), filter)
		require.NoError(t, err)
		assert.Equal(t, 1200, total, page)
		filter.After = &jobs[len(jobs)-1].Place
		if page == 3 {
			g.store(numbers(1, 150)...)
		}
	}
}
