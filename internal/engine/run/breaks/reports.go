package breaks

import (
	"maps"
	"slices"
)

// Reports has the last report of each run, by its job or task.
type Reports map[int]Report

// With adds a report, unless a newer one is known.
func (l Reports) With(r Report) Reports {
	if known, ok := l[r.Job]; ok && known.Attempt == r.Attempt && known.Seq >= r.Seq {
		return l
	}
	if l == nil {
		l = Reports{}
	}
	l[r.Job] = r
	return l
}

// Keep drops the reports of attempts that do not run.
func (l Reports) Keep(attempt func(job int) int) {
	//workflowcheck:ignore the deletions do not depend on the order
	maps.DeleteFunc(l, func(job int, r Report) bool { return attempt(job) != r.Attempt })
}

// Rests reports whether the run of the job waits for approvals alone.
func (l Reports) Rests(job int) bool {
	r, ok := l[job]
	return ok && !r.Wants
}

// Needs lists the runs that request the lane.
func (l Reports) Needs() (list []Report) {
	for _, job := range slices.Sorted(maps.Keys(l)) {
		if r := l[job]; r.Wants && !r.Granted {
			list = append(list, r)
		}
	}
	return list
}

// Answered notes that the request of a run was answered.
func (l Reports) Answered(job int) {
	if r, ok := l[job]; ok {
		r.Granted = true
		l[job] = r
	}
}
