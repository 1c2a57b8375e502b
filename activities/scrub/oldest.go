package scrub

import (
	"container/heap"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

type candidate struct {
	found
	verifiedAt time.Time
}

// oldest keeps the candidates that have waited longest, so that memory stays bounded for millions of files.
type oldest struct {
	limit int
	heap  youngestFirst
}

func newOldest(limit int) *oldest {
	if limit <= 0 || limit > jobtype.MaxKeyedJobs {
		limit = jobtype.MaxKeyedJobs
	}
	return &oldest{limit: limit + 1} // one more, so that the sink reports the surplus
}

func (o *oldest) add(c candidate) {
	if len(o.heap) < o.limit {
		heap.Push(&o.heap, c)
		return
	}
	if compare(c, o.heap[0]) < 0 {
		o.heap[0] = c
		heap.Fix(&o.heap, 0)
	}
}

// sorted empties o, the oldest first.
func (o *oldest) sorted() []candidate {
	all := []candidate(o.heap)
	o.heap = nil
	slices.SortFunc(all, compare)
	return all
}

// compare sorts by age, then by path, so that the order is deterministic.
func compare(a, b candidate) int {
	if order := a.verifiedAt.Compare(b.verifiedAt); order != 0 {
		return order
	}
	return strings.Compare(a.path, b.path)
}

type youngestFirst []candidate

func (h youngestFirst) Len() int           { return len(h) }
func (h youngestFirst) Less(i, j int) bool { return compare(h[i], h[j]) > 0 }
func (h youngestFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *youngestFirst) Push(x any) {
	if c, ok := x.(candidate); ok {
		*h = append(*h, c)
	}
}

// Pop implements heap.Interface.
func (h *youngestFirst) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
