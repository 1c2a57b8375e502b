package spans

import (
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
)

// Window is the span of time in which the group may start jobs.
type Window struct {
	// Closes is its end; zero if it does not end for a long time.
	Closes time.Time `json:"closes,omitzero"`
	// Next is the beginning of the next one; zero: unknown.
	Next time.Time `json:"next,omitzero"`
	// Longest is the length of the longest one; 0: unknown.
	Longest time.Duration `json:"longest,omitempty"`
	// Learned is the run time of a job without an estimate, from LearnedOf runs; 0: none.
	Learned   time.Duration `json:"learned,omitempty"`
	LearnedOf int           `json:"learned_of,omitempty"`
}

// Known has the maintenance windows of a group.
type Known struct {
	// Last is the last answer; nil: none yet.
	Last *contract.WindowsResult `json:"known,omitempty"`
	// AskedAt is the time of the last request.
	AskedAt time.Time `json:"asked_at,omitzero"`
	// Broken is the reason for unreadable calendars; then the window stays closed.
	Broken string `json:"broken,omitempty"`
	// Asking: a request has no answer yet.
	Asking bool `json:"-"`
}

// At is the open span that holds at now, or one that has closed; nil: there are no
// windows.
func (w *Known) At(now time.Time) *Window {
	if w.Last == nil {
		return nil
	}
	span := &Window{Closes: now, Longest: w.Last.Longest.Std()}
	for i, open := range w.Last.Open {
		switch {
		case !open.To.IsZero() && !now.Before(open.To):
			span.Closes = open.To
			continue
		case now.Before(open.From):
			span.Next = open.From
			return span
		}
		span.Closes = open.To
		if i+1 < len(w.Last.Open) {
			span.Next = w.Last.Open[i+1].From
		}
		return span
	}
	return span
}

// ClosedUntil returns the opening of a closed window; a zero time if it never opens.
func (w *Known) ClosedUntil(now time.Time) (opens time.Time, closed bool) {
	span := w.At(now)
	if span == nil || span.Closes.IsZero() || now.Before(span.Closes) {
		return time.Time{}, false
	}
	return span.Next, true
}

// Unfit describes a job that does not fit. ready is its earliest start, rest the remaining part of
// its whole run time. Without an estimate, the run time is the learned one.
func (w *Window) Unfit(ready time.Time, rest, whole time.Duration, estimated bool) explain.Unfit {
	return explain.Unfit{Closes: w.Closes, Longest: w.Longest, Ready: ready, Rest: rest, Whole: whole, Learned: w.LearnedOf, Estimated: estimated}
}
