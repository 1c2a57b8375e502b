package flow

import (
	"time"

	"github.com/roundsman/roundsman/internal/placement"
)

// Notes returns what was refused or delayed since it was called last, for the
// audit log. They are not part of the state: whoever steps the flow takes them
// after every step.
func (f *Flow) Notes() []placement.Note { return f.notes.Take() }

// wholeRun is the subject of notes about the run as a whole.
const wholeRun = -1

func (f *Flow) note(verdict placement.Verdict, code placement.NoteCode, t *task, detail string, waited time.Duration) {
	note := placement.Note{Verdict: verdict, Code: code, Subject: wholeRun, Detail: clip(detail), Waited: waited}
	if t != nil {
		note.Subject = int(t.i)
	}
	f.notes.Add(note)
}

// noteWait notes a delay that is over, if it was noticeable.
func (f *Flow) noteWait(code placement.NoteCode, t *task, detail string, since, now time.Time) {
	if waited := now.Sub(since); !since.IsZero() && waited >= placement.Noticeable {
		f.note(placement.Delayed, code, t, detail, waited)
	}
}
