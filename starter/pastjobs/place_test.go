package pastjobs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
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
	// reads counts the pages that were read.
	reads atomic.Int32
}

func newGroup(jobs int, state string) *group {
	g := &group{states: map[int]string{}, pages: map[string][]byte{}}
	for n := range jobs {
		g.states[n+1] = state
	}
	return g
}

func (g *group) Get(_ context.Context, _, page string) ([]byte, error) {
	g.reads.Add(1)
	return g.pages[page], nil
}

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
	for n := range 20_000 {
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

// walk lists the pages one after another, each of the run as it is then.
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

// TestAnOlderControlPlaneIsListedToTheEnd, though it ignores the number after which a page begins.
func TestAnOlderControlPlaneIsListedToTheEnd(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{7, 100, 450, math.MaxInt} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			g, queries := newGroup(1000, contract.JobRunning), 0
			run := g.run()
			run.Held = func(f Filter, _, offset, limit int) (contract.JobsQueryResult, error) {
				if queries++; queries > 1000 {
					return contract.JobsQueryResult{}, errors.New("the list does not end")
				}
				return g.held(f, 0, offset, limit)
			}
			g.store(numbers(200, 299)...)
			requireEach(t, walk(t, Filter{Limit: limit}, func(int) Run { return run }), 1000)
			jobs, total, err := List(t.Context(), run, Filter{Offset: 150, Limit: limit})
			require.NoError(t, err)
			assert.Equal(t, 1000, total)
			assert.Len(t, jobs, min(850, limit))
			assert.Equal(t, contract.JobID(151), jobs[0].JobID)
		})
	}
}

// TestAPageReadsOnlyTheRecordThatItShows, and counts the records stored since the first page.
func TestAPageReadsOnlyTheRecordThatItShows(t *testing.T) {
	t.Parallel()
	g := newGroup(10_000, contract.JobRunning)
	first, _, err := List(t.Context(), g.run(), Filter{Limit: 100})
	require.NoError(t, err)
	for n := 9901; n > 2000; n -= 100 {
		g.store(numbers(n, n+99)...)
	}
	list := func(after Place) (jobs []Job, reads int) {
		g.reads.Store(0)
		jobs, total, err := List(t.Context(), g.run(), Filter{Limit: 100, After: &after})
		require.NoError(t, err)
		assert.Equal(t, 10_000, total)
		return jobs, int(g.reads.Load())
	}
	jobs, reads := list(first[99].Place)
	assert.Equal(t, contract.JobID(101), jobs[0].JobID)
	assert.Zero(t, reads, "the group holds all jobs of the page")
	for n := 1; n < 2000; n += 100 {
		g.store(numbers(n, n+99)...)
	}
	for seen := 100; seen < 10_000; seen += len(jobs) {
		after := first[99].Place
		after.Job = seen
		jobs, reads = list(after)
		require.Len(t, jobs, 100)
		assert.Equal(t, contract.JobID(seen+1), jobs[0].JobID)
		assert.LessOrEqual(t, reads, parallelReads)
	}
}
