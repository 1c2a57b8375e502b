package openjobs

import (
	"slices"
	"time"
)

// List are the jobs that have not ended, in the order of their numbers. A lookup,
// an addition and a removal cost the same however many there are.
type List struct {
	// at has job N at N-1; nil where the job has ended.
	at []*Job
	// first is an index below which no job is open.
	first, count int
	// DAGs counts the jobs whose proposal carries a DAG.
	DAGs int
	// starts is computed on demand; stale: the jobs have changed since.
	starts StartBounds
	stale  bool
}

// StartBounds bound when open jobs may start; zero: unbounded.
type StartBounds struct{ First, Last time.Time }

// Len is the number of open jobs.
func (o *List) Len() int { return o.count }

// Get returns the open job of that number; nil: it is not open.
func (o *List) Get(n int) *Job {
	if n < 1 || n > len(o.at) {
		return nil
	}
	return o.at[n-1]
}

// AllCanceled reports whether an operator has canceled every open job before it was claimed.
func (o *List) AllCanceled() bool {
	return o.count > 0 && !slices.ContainsFunc(o.at, func(j *Job) bool { return j != nil && j.Canceling == "" })
}

// Put adds a job at its number, which is free.
func (o *List) Put(j *Job) {
	for len(o.at) < j.N {
		o.at = append(o.at, nil)
	}
	o.at[j.N-1] = j
	o.first = min(o.first, j.N-1)
	o.count++
	o.stale = true
	if j.Proposal.DAG != "" {
		o.DAGs++
	}
}

// Remove takes a job out. Call it before its proposal is shortened.
func (o *List) Remove(j *Job) {
	if o.Get(j.N) != j {
		return
	}
	o.at[j.N-1] = nil
	o.count--
	o.stale = true
	if j.Proposal.DAG != "" {
		o.DAGs--
	}
	for o.first < len(o.at) && o.at[o.first] == nil {
		o.first++
	}
}

// Sorted lists the open jobs by number. It costs all of them: nothing that happens at
// every event may call it.
func (o *List) Sorted() []*Job {
	list := make([]*Job, 0, o.count)
	for _, j := range o.at[o.first:] {
		if j != nil {
			list = append(list, j)
		}
	}
	return list
}

// Bounds returns the earliest not_before and the latest expires_at.
func (o *List) Bounds() StartBounds {
	if !o.stale {
		return o.starts
	}
	o.stale, o.starts = false, StartBounds{}
	begun, endless := false, false
	for _, j := range o.at[o.first:] {
		if j == nil {
			continue
		}
		if at := j.Proposal.NotBefore; !begun || at.Before(o.starts.First) {
			o.starts.First = at
		}
		begun, endless = true, endless || j.Proposal.ExpiresAt.IsZero()
		if at := j.Proposal.ExpiresAt; at.After(o.starts.Last) {
			o.starts.Last = at
		}
	}
	if endless {
		o.starts.Last = time.Time{}
	}
	return o.starts
}
