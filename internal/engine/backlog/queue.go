package backlog

import (
	"cmp"

	"github.com/roundsman/roundsman/contract"
)

type queue struct {
	index   int
	class   contract.JobClass
	runs    []run
	waiting int
	open    int
	active  int
	// low is 1 if its jobs have keys, and at most half of its share is open.
	low int
	at  int
}

type run struct{ first, count int }

func (q *queue) kind() int {
	if q.class.Keyed {
		return 1
	}
	return 0
}

// Before implements [ranked.Seated].
func (q *queue) Before(o *queue) bool {
	return cmp.Or(cmp.Compare(o.class.Priority.Rank(), q.class.Priority.Rank()), cmp.Compare(q.runs[0].first, o.runs[0].first)) < 0
}

// Seat implements [ranked.Seated].
func (q *queue) Seat() *int { return &q.at }

func (q *queue) push(first, count int) {
	q.waiting += count
	if n := len(q.runs); n > 0 && q.runs[n-1].first+q.runs[n-1].count == first {
		q.runs[n-1].count += count
		return
	}
	q.runs = append(q.runs, run{first, count})
}
