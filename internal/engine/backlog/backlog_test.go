package backlog_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/backlog"
	"github.com/roundsman/roundsman/jobtype"
)

var noon = time.Date(2026, 5, 5, 12, 0, 0, 0, time.UTC)

// model has a full item for each job, no pages, no queues and no ranges.
type model struct {
	window  int
	waiting map[int]item
	open    map[int]item
}

type item struct {
	class    string
	rank     int
	keyed    bool
	page     string
	position int
}

// next is the job with or without a key that enters the window, found by looking at all. low reports whether a queue
// has used half of its share at most.
func (m *model) next(keyed bool) (best int, low bool) {
	inWindow, classes := map[string]int{}, map[string]bool{}
	for _, it := range m.open {
		inWindow[it.class]++
		classes[it.class] = true
	}
	for _, it := range m.waiting {
		classes[it.class] = true
	}
	share := max(m.window/max(len(classes), 1), 2)
	if len(m.open) >= m.window {
		return 0, false
	}
	for n, it := range m.waiting {
		if inWindow[it.class] >= share || it.keyed != keyed {
			continue
		}
		low = low || 2*inWindow[it.class] <= share
		if best == 0 || cmp.Or(cmp.Compare(m.waiting[best].rank, it.rank), cmp.Compare(n, best)) < 0 {
			best = n
		}
	}
	return best, low
}

func (m *model) keyed() (n int) {
	for _, it := range m.waiting {
		if it.keyed {
			n++
		}
	}
	return n
}

func (m *model) ranges() (list []backlog.Range) {
	for _, n := range slices.Sorted(maps.Keys(m.waiting)) {
		if last := len(list) - 1; last >= 0 && list[last].Last == n-1 {
			list[last].Last = n
			continue
		}
		list = append(list, backlog.Range{First: n, Last: n})
	}
	return list
}

// run drives both with the same random steps.
type run struct {
	t    *testing.T
	rng  *rand.Rand
	m    model
	b    *backlog.Backlog
	open map[int]backlog.Job
	base int
	// last is the highest number, pages counts the pages.
	last, pages int
}

func (r *run) page() {
	p := contract.ProposalPage{Page: fmt.Sprintf("page-%d", r.pages), Estimate: jobtype.Duration(time.Duration(r.pages) * time.Second)}
	r.pages++
	for range 1 + r.rng.IntN(3) {
		class := contract.JobClass{Priority: []jobtype.Priority{jobtype.PriorityLow, "", jobtype.PriorityHigh}[r.rng.IntN(3)]}
		if r.rng.IntN(2) == 0 {
			class.Node = fmt.Sprintf("node-%d", r.rng.IntN(4))
		}
		if r.rng.IntN(4) == 0 {
			class.Labels = map[string]string{"b": "1", "a": fmt.Sprint(r.rng.IntN(2))}
		}
		class.Keyed = r.rng.IntN(2) == 0
		p.Classes = append(p.Classes, class)
	}
	for range 1 + r.rng.IntN(6) {
		one := contract.ClassRun{Class: r.rng.IntN(len(p.Classes)), Count: 1 + r.rng.IntN(5)}
		p.Runs, p.Count = append(p.Runs, one), p.Count+one.Count
	}
	require.NoError(r.t, backlog.Check(p))
	n := r.b.Room(p)
	require.Equal(r.t, p.Count, n)
	n -= r.rng.IntN(2) * r.rng.IntN(n+1)
	r.b.Add(p, n, noon)
	position := 0
	for _, one := range p.Runs {
		class := p.Classes[one.Class]
		name, err := json.Marshal(class)
		require.NoError(r.t, err)
		for range one.Count {
			if position < n {
				r.last++
				r.m.waiting[r.base+r.last] = item{class: string(name), rank: class.Priority.Rank(), keyed: class.Keyed, page: p.Page, position: position}
			}
			position++
		}
	}
}

// entered checks a job against the model, and moves it there.
func (r *run) entered(j backlog.Job) {
	it, waits := r.m.waiting[j.Number]
	require.True(r.t, waits, "%+v", j)
	name, err := json.Marshal(j.Class)
	require.NoError(r.t, err)
	entered := item{class: string(name), rank: j.Class.Priority.Rank(), keyed: j.Class.Keyed, page: j.Page, position: j.Position}
	require.Equal(r.t, it, entered)
	require.Equal(r.t, "page-"+fmt.Sprint(int(j.Estimate/time.Second)), j.Page)
	delete(r.m.waiting, j.Number)
	r.m.open[j.Number], r.open[j.Number] = it, j
	opened, ok := r.b.Opened(j.Number, j.Queue)
	require.True(r.t, ok)
	require.Equal(r.t, j, opened)
}

func (r *run) anyOf(numbers map[int]item) int {
	if len(numbers) == 0 {
		return 0
	}
	list := slices.Sorted(maps.Keys(numbers))
	return list[r.rng.IntN(len(list))]
}

func (r *run) step() {
	switch r.rng.IntN(12) {
	case 0:
		r.page()
	case 1, 2, 3, 4, 5:
		keyed := r.rng.IntN(2) == 0
		want, _ := r.m.next(keyed)
		j, ok := r.b.Next(keyed)
		require.Equal(r.t, want != 0, ok)
		if ok {
			require.Equal(r.t, want, j.Number)
			r.entered(j)
		}
	case 6, 7, 8:
		if n := r.anyOf(r.m.open); n > 0 {
			r.b.Left(r.open[n].Queue)
			delete(r.m.open, n)
			delete(r.open, n)
		}
	case 9:
		n := r.anyOf(r.m.waiting)
		j, ok := r.b.Enter(cmp.Or(n, r.base+r.last+1))
		require.Equal(r.t, n > 0, ok)
		if ok {
			require.Equal(r.t, n, j.Number)
			r.entered(j)
		}
	case 10:
		r.restore()
	case 11:
		if r.rng.IntN(20) == 0 {
			keyed := r.rng.IntN(2) == 0
			left := maps.Clone(r.m.waiting)
			maps.DeleteFunc(left, func(_ int, it item) bool { return it.keyed || !keyed })
			maps.DeleteFunc(r.m.waiting, func(n int, _ item) bool { _, stays := left[n]; return stays })
			require.Equal(r.t, r.m.ranges(), r.b.Drop(keyed))
			r.m.waiting = left
		}
	}
	require.Equal(r.t, len(r.m.waiting), r.b.Len())
	require.Equal(r.t, r.base+r.last, r.b.Last())
	require.Equal(r.t, r.m.ranges(), r.b.Numbers())
	require.Equal(r.t, r.m.keyed(), r.b.Keyed())
	next, low := r.m.next(true)
	most := 1 + r.rng.IntN(10)
	require.Equal(r.t, next > 0 && (low || r.m.window-len(r.m.open) >= min(most, r.m.keyed())), r.b.Due(most))
	r.list()
}

// list compares a part of the list, and one job of it.
func (r *run) list() {
	offset, limit := r.rng.IntN(20), r.rng.IntN(8)
	all, total := r.b.List(0, 0, r.base+r.last)
	require.Equal(r.t, len(r.m.waiting), total)
	require.Len(r.t, all, total)
	for _, j := range all {
		require.Contains(r.t, r.m.waiting, j.Number)
	}
	part, _ := r.b.List(0, offset, limit)
	from := min(offset, total)
	require.Equal(r.t, slices.Concat(all[from:min(from+limit, total)]), slices.Concat(part))
	one := cmp.Or(r.anyOf(r.m.waiting), r.base+r.last+1)
	found, n := r.b.List(one, 0, 1)
	_, waits := r.m.waiting[one]
	require.Equal(r.t, waits, n == 1)
	require.Equal(r.t, waits, len(found) == 1 && found[0].Number == one)
}

// restore continues from the state, with a part of the window returned.
func (r *run) restore() {
	var back []backlog.Job
	for _, n := range slices.Sorted(maps.Keys(r.open)) {
		if r.rng.IntN(2) == 0 {
			back = append(back, r.open[n])
		}
	}
	encoded, err := json.Marshal(r.b.Save(back))
	require.NoError(r.t, err)
	var saved *backlog.Saved
	require.NoError(r.t, json.Unmarshal(encoded, &saved))
	r.b, err = backlog.Restore(r.m.window, saved)
	require.NoError(r.t, err)
	if saved == nil {
		r.b.SetBase(r.base)
	}
	for _, j := range back {
		r.m.waiting[j.Number] = r.m.open[j.Number]
		delete(r.m.open, j.Number)
		delete(r.open, j.Number)
	}
}

// TestBacklogIsAsTheModel after every step, and after a restore at any step.
func TestBacklogIsAsTheModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // a test
		r := &run{
			t: t, rng: rng, m: model{window: 1 + rng.IntN(12), waiting: map[int]item{}, open: map[int]item{}}, open: map[int]backlog.Job{}, base: rng.IntN(3) * 100,
		}
		r.b = backlog.New(r.m.window)
		r.b.SetBase(r.base)
		for range 250 {
			r.step()
		}
		r.table()
	}
}

// table checks that each number is in one page.
func (r *run) table() {
	at := r.base
	for _, p := range r.b.Table() {
		require.Equal(r.t, at+1, p.First)
		at = p.Last
	}
	require.Equal(r.t, r.base+r.last, at)
}

// TestAQueueWithoutWorkersKeepsNoOtherOut: its share is all that it takes of the window.
func TestAQueueWithoutWorkersKeepsNoOtherOut(t *testing.T) {
	t.Parallel()
	b := backlog.New(100)
	b.Add(contract.ProposalPage{
		Page: "p", Count: 2000, Classes: []contract.JobClass{{Node: "gone"}, {Node: "here"}}, Runs: []contract.ClassRun{{Class: 0, Count: 1000}, {Class: 1, Count: 1000}},
	}, 2000, noon)
	entered := map[string]int{}
	fill := func() {
		for j, ok := b.Next(false); ok; j, ok = b.Next(false) {
			entered[j.Class.Node]++
			if j.Class.Node == "here" {
				b.Left(j.Queue)
			}
		}
	}
	fill()
	assert.Equal(t, map[string]int{"gone": 100, "here": 1000}, entered, "the other queue is empty, so its share is free")
}

// TestTheWindowOfJobsWithKeys grows with the queues and with the jobs that run, up to the whole window.
func TestTheWindowOfJobsWithKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ queues, running, want int }{
		{1, 0, 3072}, {1, 700, 3072}, {1, 1025, 4100}, {1, 4000, 16_000}, {1, 20_000, backlog.Window}, {200, 0, 8000}, {2000, 0, backlog.Window},
	} {
		b := backlog.New(backlog.Window)
		p := contract.ProposalPage{Page: "p", Count: 40_000}
		for i := range c.queues {
			p.Classes = append(p.Classes, contract.JobClass{Node: fmt.Sprint(i), Keyed: true})
			p.Runs = append(p.Runs, contract.ClassRun{Class: i, Count: p.Count / c.queues})
		}
		b.Add(p, p.Count, noon)
		b.Running(c.running)
		entered := 0
		for _, ok := b.Next(true); ok; _, ok = b.Next(true) {
			entered++
		}
		assert.Equal(t, c.want, entered, "%+v", c)
		assert.False(t, b.Due(contract.MaxChunk))
	}
}

// TestAMillionJobs of 500 nodes in random order: the memory of the queues and of the state.
func TestAMillionJobs(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	b := backlog.New(backlog.Window)
	classes := make([]contract.JobClass, 500)
	for i := range classes {
		classes[i].Node = fmt.Sprintf("node-%d", i)
	}
	for page := range 500 {
		p := contract.ProposalPage{Page: fmt.Sprintf("%016x", page), Count: 2000, Classes: classes}
		for range p.Count {
			p.Runs = append(p.Runs, contract.ClassRun{Class: rng.IntN(len(classes)), Count: 1})
		}
		b.Add(p, p.Count, noon)
	}
	state, err := json.Marshal(b.Save(nil))
	require.NoError(t, err)
	assert.Less(t, len(state), 6<<20)
	taken := 0
	for j, ok := b.Next(false); ok; j, ok = b.Next(false) {
		taken++
		b.Left(j.Queue)
	}
	assert.Equal(t, 1_000_000, taken)
	assert.Zero(t, b.Len())
}
