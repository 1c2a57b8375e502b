package dispatch

import (
	"container/heap"
	"maps"
	"slices"
	"strings"
	"time"
)

// queue holds the jobs that may start, by placement class: all jobs of a class
// can run on the same workers, so that one look at the workers decides for all
// of them, and a class that finds none does not hold up the others.
type queue struct {
	classes map[string]*class
	order   []*class
	// epoch changes whenever a class that found no worker may find one again.
	epoch int
}

type class struct {
	key    string
	node   string
	labels map[string]string
	// dag: its jobs are DAGs, which run on no worker.
	dag  bool
	heap jobHeap
	// blockedAt is the epoch in which no worker was found.
	blockedAt int
	// noWorkerSince is when the last worker that could serve the class, busy or
	// not, went away; zero while there is one.
	noWorkerSince time.Time
}

func (q *queue) init() { q.classes, q.epoch = map[string]*class{}, 1 }

func (q *queue) unblock() { q.epoch++ }

func classKey(node string, labels map[string]string) string {
	if node == "" && len(labels) == 0 {
		return ""
	}
	var key strings.Builder
	key.WriteString(node)
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		key.WriteByte(0)
		key.WriteString(name)
		key.WriteByte('=')
		key.WriteString(labels[name])
	}
	return key.String()
}

func (q *queue) push(j *job) {
	node := j.Proposal.Node
	if j.Pin != "" {
		node = j.Pin
	}
	key := j.class()
	c := q.classes[key]
	if c == nil {
		c = &class{key: key, node: node, labels: j.Proposal.Labels}
		if j.isDAG() {
			c = &class{key: key, dag: true}
		}
		q.classes[key] = c
		q.order = append(q.order, c)
	}
	if len(c.heap) == 0 {
		c.blockedAt = 0 // What blocked it was about jobs that are not there any more.
	}
	heap.Push(&c.heap, j)
}

// next returns the class whose first job is the one to start next, among those
// that are not blocked, or nil.
func (q *queue) next() *class {
	var best *class
	for _, c := range q.order {
		if c.blockedAt == q.epoch || !c.settle() {
			continue
		}
		if best == nil || before(c.heap[0], best.heap[0]) {
			best = c
		}
	}
	return best
}

// settle drops jobs from the head that are not pending any more and reports
// whether one is left.
func (c *class) settle() bool {
	for len(c.heap) > 0 && (c.heap[0].State != StatePending || !c.heap[0].queued) {
		c.pop()
	}
	return len(c.heap) > 0
}

func (c *class) pop() *job {
	j, ok := heap.Pop(&c.heap).(*job)
	if !ok {
		return nil
	}
	j.queued = false
	return j
}

// class is the key of the job's placement class. Jobs that still have to ask
// for resources are a class of their own, so that they do not hold up others.
func (j *job) class() string {
	node := j.Proposal.Node
	if j.Pin != "" {
		node = j.Pin
	}
	key := classKey(node, j.Proposal.Labels)
	if j.isDAG() {
		key = "\x02"
	}
	if j.Door == doorClosed && j.hasNeeds() {
		key += "\x01"
	}
	return key
}

// before orders jobs: those that have their resources already, then priority,
// then the order of detection.
func before(a, b *job) bool {
	if a.Door != b.Door && (a.Door == doorOpen || b.Door == doorOpen) {
		return a.Door == doorOpen
	}
	if ra, rb := a.Proposal.Priority.Rank(), b.Proposal.Priority.Rank(); ra != rb {
		return ra > rb
	}
	return a.N < b.N
}

type jobHeap []*job

func (h jobHeap) Len() int           { return len(h) }
func (h jobHeap) Less(i, j int) bool { return before(h[i], h[j]) }
func (h jobHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *jobHeap) Push(x any) {
	if j, ok := x.(*job); ok {
		*h = append(*h, j)
	}
}

// Pop implements heap.Interface.
func (h *jobHeap) Pop() any {
	last := (*h)[len(*h)-1]
	(*h)[len(*h)-1] = nil
	*h = (*h)[:len(*h)-1]
	return last
}
