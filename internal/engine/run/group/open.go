package group

import "time"

// openJobs are the jobs that have not ended, in the order of their numbers. A lookup,
// an addition and a removal cost the same however many there are.
type openJobs struct {
	// at has job N at N-1; nil where the job has ended.
	at []*job
	// first is an index below which no job is open.
	first, count int
	// dags counts the jobs whose proposal carries a DAG.
	dags int
	// starts is worked out when it is needed; stale: the jobs have changed since.
	starts startBounds
	stale  bool
}

// startBounds bound when open jobs may start; zero: unbounded.
type startBounds struct{ first, last time.Time }

func (o *openJobs) len() int { return o.count }

// get returns the open job of that number; nil: it is not open.
func (o *openJobs) get(n int) *job {
	if n < 1 || n > len(o.at) {
		return nil
	}
	return o.at[n-1]
}

// put adds a job at its number, which is free.
func (o *openJobs) put(j *job) {
	for len(o.at) < j.N {
		o.at = append(o.at, nil)
	}
	o.at[j.N-1] = j
	o.first = min(o.first, j.N-1)
	o.count++
	o.stale = true
	if j.Proposal.DAG != "" {
		o.dags++
	}
}

// remove takes a job out. Call it before its proposal is shortened.
func (o *openJobs) remove(j *job) {
	if o.get(j.N) != j {
		return
	}
	o.at[j.N-1] = nil
	o.count--
	o.stale = true
	if j.Proposal.DAG != "" {
		o.dags--
	}
	for o.first < len(o.at) && o.at[o.first] == nil {
		o.first++
	}
}

// sorted lists the open jobs by number. It costs all of them: nothing that happens at
// every event may call it.
func (o *openJobs) sorted() []*job {
	list := make([]*job, 0, o.count)
	for _, j := range o.at[o.first:] {
		if j != nil {
			list = append(list, j)
		}
	}
	return list
}

// bounds returns the earliest not_before and the latest expires_at.
func (o *openJobs) bounds() startBounds {
	if !o.stale {
		return o.starts
	}
	o.stale, o.starts = false, startBounds{}
	begun, endless := false, false
	for _, j := range o.at[o.first:] {
		if j == nil {
			continue
		}
		if at := j.Proposal.NotBefore; !begun || at.Before(o.starts.first) {
			o.starts.first = at
		}
		begun, endless = true, endless || j.Proposal.ExpiresAt.IsZero()
		o.starts.last = latestOf(o.starts.last, j.Proposal.ExpiresAt)
	}
	if endless {
		o.starts.last = time.Time{}
	}
	return o.starts
}
