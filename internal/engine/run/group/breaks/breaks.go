package breaks

import (
	"maps"
	"slices"
	"time"
)

// Report is a message of the run of a job.
type Report struct {
	Job     int `json:"j"`
	Attempt int `json:"a"`
	Seq     int `json:"s"`
	// Wants: it requests its lane. Otherwise it waits for approvals alone.
	Wants bool `json:"w,omitempty"`
}

// Action is the next thing to do about the lane.
type Action uint8

// The actions.
const (
	Nothing Action = iota
	Release
	Request
)

// retryPause is how long after a refusal the lane is requested again.
const retryPause = time.Minute

// Break is the state of the lane of a group. The zero value has the lane.
type Break struct {
	// Reports has the last report of each run that waits.
	Reports map[int]Report `json:"reports,omitempty"`
	// Away: the lane is given back. Since is when.
	Away  bool      `json:"away,omitempty"`
	Since time.Time `json:"since,omitzero"`
	// Rounds counts the requests of the lane; it names them. AskedAt is the time of the open one.
	Rounds  int       `json:"rounds,omitempty"`
	AskedAt time.Time `json:"asked_at,omitzero"`
	// RefusedAt is the time of the last refusal.
	RefusedAt time.Time `json:"refused_at,omitzero"`
}

// Note takes a report, unless a newer one is known.
func (b *Break) Note(r Report) {
	known, ok := b.Reports[r.Job]
	if ok && known.Attempt == r.Attempt && known.Seq >= r.Seq {
		return
	}
	if b.Reports == nil {
		b.Reports = map[int]Report{}
	}
	b.Reports[r.Job] = r
}

// Next decides about the lane of a group with that many open jobs. attempt is the running attempt
// of a job, 0 if none runs.
func (b *Break) Next(open int, attempt func(job int) int, now time.Time) Action {
	//workflowcheck:ignore the deletions do not depend on the order
	maps.DeleteFunc(b.Reports, func(job int, r Report) bool { return attempt(job) != r.Attempt })
	waiting := 0
	//workflowcheck:ignore a sum does not depend on the order
	for _, r := range b.Reports {
		if !r.Wants {
			waiting++
		}
	}
	rests := open > 0 && waiting == open
	if rests || open == 0 {
		b.RefusedAt = time.Time{} // Nothing wants the lane now.
	}
	switch {
	case !b.Away && rests:
		b.Away, b.Since = true, now
		return Release
	case b.Away && !rests && open > 0 && b.AskedAt.IsZero() && !now.Before(b.RetryAt()):
		b.Rounds++
		b.AskedAt, b.RefusedAt = now, time.Time{}
		return Request
	}
	return Nothing
}

// RetryAt is before when the lane is not requested again; zero: there was no refusal.
func (b *Break) RetryAt() time.Time {
	if b.RefusedAt.IsZero() {
		return time.Time{}
	}
	return b.RefusedAt.Add(retryPause)
}

// Asked reports whether the lane was requested again.
func (b *Break) Asked() bool { return !b.AskedAt.IsZero() }

// Granted notes that the group has its lane again.
func (b *Break) Granted() { b.Away, b.AskedAt, b.Since = false, time.Time{}, time.Time{} }

// Refused notes that the group does not get its lane now.
func (b *Break) Refused(now time.Time) { b.AskedAt, b.RefusedAt = time.Time{}, now }

// Answer returns the needs of the runs that the group grants, because it has the lane.
func (b *Break) Answer() (list []Report) {
	if b.Away {
		return nil
	}
	for _, job := range slices.Sorted(maps.Keys(b.Reports)) {
		if r := b.Reports[job]; r.Wants {
			list = append(list, r)
		}
	}
	return list
}

// Answered forgets a request that was answered. Later reports have a higher number.
func (b *Break) Answered(r Report) { delete(b.Reports, r.Job) }
