package backlog

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/ranked"
)

const (
	// Window is the number of jobs of the backlog that are open at once.
	Window = 20_000
	// KeyedInGroup is the number of proposals with keys that a group has itself. Each takes 1.7 KB of the control plane's memory.
	KeyedInGroup = 10_000
	// leastShare is the room of a queue in the window, however many queues there are.
	leastShare = 2
	// keyedWindow is the window of jobs with keys. It has room for keyedShare jobs of each queue, and for keyedAhead jobs
	// for each that runs. Each of its jobs takes eight bytes of a state, which its history has twice.
	keyedWindow = 3 * contract.MaxChunk
	keyedShare  = 40
	keyedAhead  = 4
	// MaxQueues bounds the queues of a group. Jobs beyond them are surplus.
	MaxQueues = 10_000
	// MaxPages is the same for pages: the server takes 2,000 Updates of a run.
	MaxPages = 1_800
)

// Job is a job of the backlog without its proposal.
type Job struct {
	Number int
	// Queue is for [Backlog.Left].
	Queue    int
	Class    contract.JobClass
	Estimate time.Duration
	// At is when its page was found.
	At time.Time
	contract.ProposalRef
}

// page is a page with proposals.
type page struct {
	Name string `json:"p"`
	// First is the number of its first job, counted from 1; Count is the number of its jobs.
	First    int           `json:"f"`
	Count    int           `json:"n"`
	Estimate time.Duration `json:"e,omitempty"`
	At       time.Time     `json:"at"`
}

// Backlog is the backlog of one group. Create it with [New] or [Restore].
type Backlog struct {
	window int
	// base is added to each number: jobs that are not in pages come first.
	base   int
	last   int
	pages  []page
	queues []*queue
	byKey  map[string]*queue
	// ready are the queues with waiting jobs and room in the window: those without and with keys.
	ready [2]ranked.Heap[*queue]
	// keyed counts the waiting jobs with keys, openKeyed those in the window, low the queues of them that have used half
	// of their share.
	keyed, openKeyed, low int
	// waiting are the jobs outside of the window, open those in it; active are the queues with
	// either.
	waiting, open, active int
	// ahead is the room for the jobs that run, windows and shares are those of jobs without and with keys.
	ahead           int
	windows, shares [2]int
}

// queue has the numbers of the jobs of one class, in their order.
type queue struct {
	index   int
	class   contract.JobClass
	runs    []run
	waiting int
	open    int
	// active is 1 if it has jobs, waiting or open.
	active int
	// low is 1 if its jobs have keys, and at most half of its share is open.
	low int
	at  int
}

func (q *queue) kind() int {
	if q.class.Keyed {
		return 1
	}
	return 0
}

// Range is the jobs First to Last.
type Range struct{ First, Last int }

// run is a number, and how many follow it.
type run struct{ first, count int }

// Before implements [ranked.Seated].
func (q *queue) Before(o *queue) bool {
	return cmp.Or(cmp.Compare(o.class.Priority.Rank(), q.class.Priority.Rank()), cmp.Compare(q.runs[0].first, o.runs[0].first)) < 0
}

// Seat implements [ranked.Seated].
func (q *queue) Seat() *int { return &q.at }

// New returns an empty backlog with that window.
func New(window int) *Backlog {
	b := &Backlog{window: window, byKey: map[string]*queue{}}
	b.setShares()
	return b
}

// SetBase sets the number before the first job of the backlog.
func (b *Backlog) SetBase(base int) { b.base = base }

// Len is the number of jobs outside of the window.
func (b *Backlog) Len() int { return b.waiting }

// Last is the highest number.
func (b *Backlog) Last() int { return b.base + b.last }

// Full reports whether no page can be added.
func (b *Backlog) Full() bool { return len(b.pages) >= MaxPages }

// Room reports how many jobs of a page may be added, without regard to the limits of the group.
func (b *Backlog) Room(p contract.ProposalPage) int {
	if b.Full() {
		return 0
	}
	more := 0
	for _, class := range p.Classes {
		if b.byKey[class.Key()] == nil {
			more++
		}
	}
	if len(b.queues)+more > MaxQueues {
		return 0
	}
	return p.Count
}

// Check returns an error if the description of a page contradicts itself.
func Check(p contract.ProposalPage) error {
	n := 0
	for _, r := range p.Runs {
		if r.Class < 0 || r.Class >= len(p.Classes) || r.Count <= 0 {
			return fmt.Errorf("page %s has a run of %d proposals of class %d of %d", p.Page, r.Count, r.Class, len(p.Classes))
		}
		n += r.Count
	}
	if n != p.Count || p.Page == "" {
		return fmt.Errorf("page %q has %d proposals in classes, and %d in all", p.Page, n, p.Count)
	}
	return nil
}

// Add adds the first n jobs of a page that was found at now.
func (b *Backlog) Add(p contract.ProposalPage, n int, now time.Time) {
	if n <= 0 {
		return
	}
	b.pages = append(b.pages, page{Name: p.Page, First: b.last + 1, Count: n, Estimate: p.Estimate.Std(), At: now})
	queues := make([]*queue, len(p.Classes))
	for _, r := range p.Runs {
		count := min(r.Count, n)
		if n -= count; count == 0 {
			break
		}
		q := queues[r.Class]
		if q == nil {
			q = b.queueOf(p.Classes[r.Class])
			queues[r.Class] = q
		}
		q.push(b.last+1, count)
		b.last += count
		b.wait(q, count)
	}
	for _, q := range queues {
		if q != nil {
			b.recount(q)
		}
	}
}

func (b *Backlog) queueOf(class contract.JobClass) *queue {
	key := class.Key()
	if q := b.byKey[key]; q != nil {
		return q
	}
	q := &queue{index: len(b.queues), class: class, at: -1}
	b.queues, b.byKey[key] = append(b.queues, q), q
	return q
}

func (q *queue) push(first, count int) {
	q.waiting += count
	if n := len(q.runs); n > 0 && q.runs[n-1].first+q.runs[n-1].count == first {
		q.runs[n-1].count += count
		return
	}
	q.runs = append(q.runs, run{first, count})
}

// recount updates the place of a changed queue, and the shares of all queues if their number changed.
func (b *Backlog) recount(q *queue) {
	b.place(q)
	active := 0
	if q.waiting+q.open > 0 {
		active = 1
	}
	if was := q.active; was != active {
		q.active, b.active = active, b.active+active-was
		b.setShares()
	}
}

// Running makes room for jobs that run, and their successors.
func (b *Backlog) Running(n int) {
	if ahead := keyedAhead * n; ahead > b.ahead {
		b.ahead = max(2*b.ahead, ahead, keyedWindow) // It changes seldom.
		b.setShares()
	}
}

// setShares works out the windows and the shares of queues.
func (b *Backlog) setShares() {
	windows, before := [2]int{b.window, min(b.window, max(keyedWindow, keyedShare*b.active, b.ahead))}, b.shares
	b.windows = windows
	for kind, window := range windows {
		b.shares[kind] = max(window/max(b.active, 1), leastShare)
	}
	if b.shares != before {
		for _, q := range b.queues {
			b.place(q)
		}
	}
}

// room is the part of the window that is free for jobs without or with keys.
func (b *Backlog) room(kind int) int {
	if kind == 0 {
		return b.window - b.open
	}
	return min(b.window-b.open, b.windows[1]-b.openKeyed)
}

// place puts a queue among the ready ones, or takes it out.
func (b *Backlog) place(q *queue) {
	heap := &b.ready[q.kind()]
	share := b.shares[q.kind()]
	switch ready := q.waiting > 0 && q.open < share; {
	case ready && q.at < 0:
		heap.Push(q)
	case ready:
		heap.Fix(q)
	case q.at >= 0:
		heap.Remove(q)
	}
	b.low -= q.low
	if q.low = 0; q.class.Keyed && q.waiting > 0 && 2*q.open <= share {
		q.low = 1
	}
	b.low += q.low
}

// wait counts jobs that come to wait, or no longer do.
func (b *Backlog) wait(q *queue, count int) {
	b.waiting += count
	if q.class.Keyed {
		b.keyed += count
	}
}

// Keyed is the number of jobs with keys outside of the window.
func (b *Backlog) Keyed() int { return b.keyed }

// Due reports whether jobs with keys may enter the window, and enough of them for one request: most, all that are
// left, or half of the share of a queue.
func (b *Backlog) Due(most int) bool {
	room := b.room(1)
	return len(b.ready[1]) > 0 && room > 0 && (b.low > 0 || room >= min(most, b.keyed))
}

// Next moves the next job, with or without a key, into the window. It returns false without a job or without room.
func (b *Backlog) Next(keyed bool) (Job, bool) {
	kind := 0
	if keyed {
		kind = 1
	}
	heap := b.ready[kind]
	if len(heap) == 0 || b.room(kind) <= 0 {
		return Job{}, false
	}
	q := heap[0]
	number := q.runs[0].first
	if q.runs[0].first++; q.runs[0].count == 1 {
		q.runs = q.runs[1:]
	} else {
		q.runs[0].count--
	}
	b.entered(q)
	return b.job(number, q), true
}

func (b *Backlog) entered(q *queue) {
	q.waiting, q.open = q.waiting-1, q.open+1
	b.opened(q, 1)
	b.wait(q, -1)
	b.place(q)
}

// opened counts jobs that come into the window, or leave it.
func (b *Backlog) opened(q *queue, count int) {
	b.open += count
	b.openKeyed += q.kind() * count
}

// Left records the end of a job of the window, by its queue.
func (b *Backlog) Left(index int) {
	q := b.queues[index]
	q.open--
	b.opened(q, -1)
	b.recount(q)
}

// Enter moves one job into the window, even a full one. It returns false if the job does not wait.
func (b *Backlog) Enter(number int) (Job, bool) {
	q, at := b.find(number - b.base)
	if q == nil {
		return Job{}, false
	}
	r, relative := q.runs[at], number-b.base
	var parts []run
	if before := relative - r.first; before > 0 {
		parts = append(parts, run{r.first, before})
	}
	if after := r.first + r.count - relative - 1; after > 0 {
		parts = append(parts, run{relative + 1, after})
	}
	if q.at >= 0 {
		b.ready[q.kind()].Remove(q) // Its order may change.
	}
	q.runs = slices.Concat(q.runs[:at:at], parts, q.runs[at+1:])
	b.entered(q)
	return b.job(relative, q), true
}

// Has reports whether a number waits.
func (b *Backlog) Has(number int) bool {
	q, _ := b.find(number - b.base)
	return q != nil
}

// find returns the queue of a waiting number and its run. The queue is nil if the number does not wait.
func (b *Backlog) find(relative int) (*queue, int) {
	for _, q := range b.queues {
		at, found := slices.BinarySearchFunc(q.runs, relative, func(r run, n int) int {
			switch {
			case n < r.first:
				return 1
			case n >= r.first+r.count:
				return -1
			}
			return 0
		})
		if found {
			return q, at
		}
	}
	return nil, 0
}

// List returns waiting jobs: the one with that number, or, if it is 0, at most limit of all from
// offset on, queue by queue. total counts all.
func (b *Backlog) List(number, offset, limit int) (list []Job, total int) {
	if number > 0 {
		q, _ := b.find(number - b.base)
		if q == nil {
			return nil, 0
		}
		if offset == 0 && limit > 0 {
			list = []Job{b.job(number-b.base, q)}
		}
		return list, 1
	}
	for _, q := range b.queues {
		if offset >= q.waiting {
			offset -= q.waiting
			continue
		}
		for _, r := range q.runs {
			for k := min(offset, r.count); k < r.count && len(list) < limit; k++ {
				list = append(list, b.job(r.first+k, q))
			}
			if offset = max(offset-r.count, 0); len(list) >= limit {
				return list, b.waiting
			}
		}
	}
	return list, b.waiting
}

// Opened returns a job of the window, by its number and queue. It returns false if there is no such job.
func (b *Backlog) Opened(number, index int) (Job, bool) {
	if index < 0 || index >= len(b.queues) || number <= b.base || number > b.base+b.last {
		return Job{}, false
	}
	return b.job(number-b.base, b.queues[index]), true
}

func (b *Backlog) job(relative int, q *queue) Job {
	j := Job{Number: b.base + relative, Queue: q.index, Class: q.class}
	at, found := slices.BinarySearchFunc(b.pages, relative, func(p page, n int) int { return cmp.Compare(p.First, n) })
	if !found {
		at--
	}
	p := b.pages[at]
	j.Page, j.Position, j.Estimate, j.At = p.Name, relative-p.First, p.Estimate, p.At
	return j
}

// Numbers lists the numbers of the waiting jobs in ranges, by number.
func (b *Backlog) Numbers() []Range { return b.numbers(false) }

// numbers lists those of all jobs, or of the jobs with keys only.
func (b *Backlog) numbers(keyed bool) []Range {
	var runs []run
	for _, q := range b.queues {
		if q.class.Keyed || !keyed {
			runs = append(runs, q.runs...)
		}
	}
	slices.SortFunc(runs, func(x, y run) int { return cmp.Compare(x.first, y.first) })
	var list []Range
	for _, r := range runs {
		if n := len(list); n > 0 && list[n-1].Last == b.base+r.first-1 {
			list[n-1].Last += r.count
			continue
		}
		list = append(list, Range{First: b.base + r.first, Last: b.base + r.first + r.count - 1})
	}
	return list
}

// Drop takes all waiting jobs out, or those with keys only. It returns them as [Backlog.Numbers] does.
func (b *Backlog) Drop(keyed bool) []Range {
	dropped := b.numbers(keyed)
	for _, q := range b.queues {
		if keyed && !q.class.Keyed {
			continue
		}
		b.wait(q, -q.waiting)
		q.runs, q.waiting = nil, 0
		if q.at >= 0 {
			b.ready[q.kind()].Remove(q)
		}
	}
	for _, q := range b.queues {
		b.recount(q)
	}
	return dropped
}

// Table lists the pages with the numbers of their jobs.
func (b *Backlog) Table() []contract.ProposalTable {
	var table []contract.ProposalTable
	for _, p := range b.pages {
		table = append(table, contract.ProposalTable{Page: p.Name, First: b.base + p.First, Last: b.base + p.First + p.Count - 1})
	}
	return table
}
