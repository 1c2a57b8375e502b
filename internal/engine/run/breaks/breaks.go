package breaks

import "time"

// Report is a message of the run of a job.
type Report struct {
	Job     int `json:"j"`
	Attempt int `json:"a"`
	Seq     int `json:"s"`
	// Wants: it requests its lane. Otherwise it waits for approvals alone.
	Wants bool `json:"w,omitempty"`
	// Granted: its request was answered. The report stays, so that a late older one does nothing.
	Granted bool `json:"g,omitempty"`
}

// Action is the next thing to do about the lane.
type Action uint8

// The actions.
const (
	Nothing Action = iota
	Release
	Request
)

const retryPause = time.Minute

// Break is the state of the lane of a group. The zero value has the lane.
type Break struct {
	// Reports has the last report of each run that waits.
	Reports Reports `json:"reports,omitempty"`
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
func (b *Break) Note(r Report) { b.Reports = b.Reports.With(r) }

// Next decides about the lane. attempt is the running attempt of a job, 0 if none runs.
func (b *Break) Next(open int, attempt func(job int) int, now time.Time) Action {
	b.Reports.Keep(attempt)
	waiting := 0
	//workflowcheck:ignore a sum does not depend on the order
	for job := range b.Reports {
		if b.Reports.Rests(job) {
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

// Requested reports whether the lane was requested again.
func (b *Break) Requested() bool { return !b.AskedAt.IsZero() }

// Granted notes that the group has its lane again.
func (b *Break) Granted() { b.Away, b.AskedAt, b.Since = false, time.Time{}, time.Time{} }

// Refused notes that the group does not get its lane now.
func (b *Break) Refused(now time.Time) { b.AskedAt, b.RefusedAt = time.Time{}, now }

// Answer returns the needs of the runs that the group grants, because it has the lane.
func (b *Break) Answer() (list []Report) {
	if b.Away {
		return nil
	}
	return b.Reports.Needs()
}

// Answered notes that a request was answered.
func (b *Break) Answered(r Report) { b.Reports.Answered(r.Job) }
