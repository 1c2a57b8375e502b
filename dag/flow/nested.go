package flow

import (
	"fmt"
	"time"

	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/placement"
)

// A sub-DAG whose workflow id is taken is tried again every idPause, idTries times:
// for two minutes, which is longer than a run that was canceled takes as a rule to
// end. After a reset of the outer run the sub-DAG of before goes on, and has the id.
const (
	idPause = 2 * time.Second
	idTries = 60
)

// retake tries a sub-DAG again whose workflow id is taken by a run that is open.
// That costs no retry.
func (f *Flow) retake(t *task, end Ending, now time.Time) {
	t.losses++
	switch {
	case t.canceling:
		f.canceled(t, now)
		return
	case t.losses > idTries:
		f.fail(t, fmt.Sprintf("%s: cancel it, or wait for its end, and retry (it was waited for %s)", end.Message, idTries*idPause), now)
		return
	}
	f.note(placement.Delayed, placement.NoteNotTaken, t, end.Message, idPause)
	f.leaveFlight(t)
	t.note = clip(end.Message)
	t.phase, t.queuedAt, t.until = phaseBackoff, now, now.Add(idPause)
	f.timers.push(timer{at: t.until, kind: timerReady, task: t.i, attempt: t.attempt})
}

// insist has every sub-DAG end that was canceled and still runs what is to run
// always.
func (f *Flow) insist() {
	for _, i := range f.liveTasks() {
		if t := f.live[i]; t.definition.Kind == spec.KindDAG && t.phase == phaseRunning && t.canceling && !t.insisted {
			t.insisted = true
			f.decide(Decision{Kind: Insist, Task: i, Attempt: t.attempt, Reason: f.reason})
		}
	}
}
