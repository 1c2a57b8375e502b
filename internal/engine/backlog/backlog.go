package backlog

import (
	"fmt"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/ranked"
	"github.com/roundsman/roundsman/internal/lib/lists"
)

const (
	// Window is the number of jobs of the backlog that are open at once.
	Window = 20_000
	// KeyedInGroup is the number of proposals with keys that a group has itself. Each takes 1.4 KB of the control plane's memory.
	KeyedInGroup = 2_000
	leastShare   = 2
	// keyedWindow has room for keyedShare jobs of each queue, and for keyedAhead jobs for each that runs. Each job
	// takes eight bytes of a state, which its history has twice.
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
	base   int
	last   int
	pages  []page
	queues []*queue
	byKey  map[string]*queue
	ready  [2]ranked.Heap[*queue]
	// low are the queues that have used half of their share.
	keyed, openKeyed, low int
	waiting, open, active int
	ahead                 int
	windows, shares       [2]int
}

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
	more := lists.Count(p.Classes, func(class contract.JobClass) bool { return b.byKey[class.Key()] == nil })
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

// Keyed is the number of jobs with keys outside of the window.
func (b *Backlog) Keyed() int { return b.keyed }

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
