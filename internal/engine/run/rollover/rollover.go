// Package rollover decides when a workflow run continues as new. Nothing may be in flight then, so a [Rollover] also
// decides when nothing more starts. It is pure.
package rollover

import (
	"cmp"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// The server suggests it at 4,096 events and terminates a run at 51,200 events or 50 MiB. Carrying the state over
// costs more than the longer history until about 20,000 events.
const (
	softEvents = 20_000
	// HardEvents is the length at which nothing new starts. The ends of 500 items in flight stay below 45,000.
	HardEvents  = 40_000
	retryEvents = 5_000
	// bytesPerEvent counts large events as more: 20,000 events stand for 10 MiB.
	bytesPerEvent = 512
	// Drain is the longest pause of starts before the hard limit, and the longest average of attempts for it.
	Drain = 5 * time.Second
	// maxHistoryBytes leaves room below the server's 50 MiB for control activities while nothing more starts.
	maxHistoryBytes = 46 << 20
	// endBytes is the largest end of an attempt, attemptBytes its size without payloads.
	endBytes     = jobtype.MaxResultBytes + 2<<10
	attemptBytes = 1 << 10
)

// Rollover prepares continue-as-new.
type Rollover struct {
	soft  int
	hold  bool
	since time.Time
	next  int
	// given is the size of the history at the beginning, -1 before it is known: a large state must not shorten the run.
	given int
	// progress: something has happened. Otherwise a run with a small limit could continue as new for ever.
	progress bool
	mean     time.Duration
	left     int
	bounded  bool
}

// New returns a rollover. soft 0 means 20,000 events. mean is the average time of an attempt, 0 if unknown.
func New(soft int, mean time.Duration) Rollover {
	soft = cmp.Or(soft, softEvents)
	return Rollover{soft: soft, given: -1, mean: mean}
}

// History is the history of the workflow run.
type History struct {
	// Events and Bytes are its length, Ordered the bytes of the decisions that are not in it yet.
	Events, Bytes, Ordered int
	// Busy is the number of attempts in flight.
	Busy int
}

// Observe takes the length of the history, and returns the time of the next look. young reports whether all attempts
// in flight are younger than [Drain]; it is called only if the history is long enough.
func (r *Rollover) Observe(now time.Time, h History, young func() bool) (again time.Time) {
	r.left, r.bounded = maxHistoryBytes-h.Bytes-h.Ordered-h.Busy*endBytes, true
	if r.given < 0 {
		r.given = h.Bytes
	}
	length := max(h.Events, (h.Bytes-r.given)/bytesPerEvent)
	switch {
	case r.left <= 0 && h.Busy > 0:
		r.hold = true
	case length < max(r.soft, r.next) || !r.progress && length < softEvents:
		r.hold = false
	case length >= HardEvents:
		r.hold = true
	case r.hold && now.Sub(r.since) > Drain:
		r.hold, r.next = false, length+min(retryEvents, r.soft)
	case !r.hold && (h.Busy == 0 || r.mean <= Drain && young()):
		r.hold, r.since = true, now
		if h.Busy > 0 {
			return now.Add(Drain + time.Millisecond)
		}
	}
	return time.Time{}
}

// Holds reports whether nothing may start.
func (r *Rollover) Holds() bool { return r.hold }

// Progress marks that something has happened in the workflow run.
func (r *Rollover) Progress() { r.progress = true }

// Started counts an attempt that starts now and carries so many bytes.
func (r *Rollover) Started(carries int) {
	r.progress = true
	r.left -= carries + attemptBytes + endBytes
	r.hold = r.hold || r.bounded && r.left <= 0
}

// Mean returns the average time of an attempt, 0 if unknown.
func (r *Rollover) Mean() time.Duration { return r.mean }

// Learn takes the time of an attempt into the average.
func (r *Rollover) Learn(took time.Duration) {
	if r.mean == 0 {
		r.mean = took
		return
	}
	r.mean += (took - r.mean) / 8
}
