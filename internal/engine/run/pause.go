package run

import (
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
)

// Pause is the pause of a run; the zero value means none.
type Pause struct {
	At   time.Time `json:"at,omitzero"`
	By   string    `json:"by,omitempty"`
	Note string    `json:"note,omitempty"`
}

// On reports whether the run is paused.
func (p Pause) On() bool { return !p.At.IsZero() }

// Paused returns the pause of the run.
func (e *rules) Paused() Pause { return e.pause }

// Pause prevents starts until [Engine.Resume], and releases granted resources.
func (e *course) Pause(now time.Time, by, note string) {
	e.pause.By, e.pause.Note = clip(by), clip(note) // They travel.
	if !e.pause.On() {
		e.pause.At = now
		e.Changed(now)
		e.rest(now)
	}
}

// Resume ends a pause, and returns its last state.
func (e *course) Resume() Pause {
	before := e.pause
	if before.On() {
		e.pause = Pause{}
		e.touchAll()
	}
	return before
}

// Wait returns the pause as a reason to wait.
func (p Pause) Wait() Wait {
	return Wait{Code: contract.CodePaused, Since: p.At, Detail: explain.TextPaused(p.By, p.Note)}
}
