package spans

import (
	"fmt"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
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

// TextNever counts the jobs that are longer than every window; only a person can help them. It is
// empty if there are none.
func (w *Window) TextNever(jobs int) string {
	switch jobs {
	case 0:
		return ""
	case 1:
		return "; 1 of them never fits: " + w.textLongest()
	}
	return fmt.Sprintf("; %d of them never fit: %s", jobs, w.textLongest())
}

func (w *Window) textLongest() string {
	return "no window of the next weeks is longer than " + jobtype.Duration(w.Longest).String()
}

// TextLate explains a job that does not fit. ready is its earliest start, rest the remaining part of
// its whole run time. Without an estimate, the run time is the learned one.
func (w *Window) TextLate(ready time.Time, rest, whole time.Duration, estimated bool) string {
	closes := "the window closes at " + at(w.Closes)
	if !ready.Before(w.Closes) {
		return fmt.Sprintf("it does not start before %s, and %s", at(ready), closes)
	}
	what := "its estimated_runtime of " + jobtype.Duration(whole).String()
	if !estimated {
		what = fmt.Sprintf("the learned p95 of %d runs, %s,", w.LearnedOf, jobtype.Duration(whole))
	}
	if rest < whole {
		what = fmt.Sprintf("what is left of %s after its checkpoint, %s,", what, jobtype.Duration(rest.Round(time.Second)))
	}
	text := fmt.Sprintf("%s does not fit before %s", what, closes)
	if w.Longest > 0 && rest > w.Longest {
		text += "; it never fits: " + w.textLongest()
	}
	return text
}

func at(t time.Time) string { return t.UTC().Format(time.RFC3339) }
