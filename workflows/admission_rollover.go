package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// Continuing as new is the one moment in which admission can keep others waiting.
// A request that comes while the closing workflow task runs makes the server
// refuse it (UnhandledCommand). Until the next task is over, which begins with a
// replay of the whole history, the server turns all requests away as "workflow is
// closing", and tries them again after a second or more. So admission closes a run
// in a moment in which nobody asks: the longer the history, the shorter the pause
// that is taken for one.
const (
	// admissionEvents and admissionBytes end a run however busy it is. The server's
	// own limits are 51,200 events and 50 MiB.
	admissionEvents = 40_000
	admissionBytes  = 16 << 20
	// admissionSignals does so too: the server takes 10,000 signals a run and loses
	// those beyond.
	admissionSignals = 8_000
)

// admissionLull is after how long without a request a run of that length may end.
func admissionLull(events int) time.Duration {
	switch {
	case events >= 24_000:
		return 50 * time.Millisecond
	case events >= 12_000:
		return 250 * time.Millisecond
	}
	return time.Second
}

// isFull reports whether the run must make room for the next one now.
func (a *admissionRun) isFull() bool {
	info := workflow.GetInfo(a.ctx)
	if info.GetCurrentHistoryLength() >= admissionEvents || info.GetCurrentHistorySize() >= admissionBytes || a.taken >= admissionSignals {
		return true
	}
	return info.GetContinueAsNewSuggested() && a.lull() >= admissionLull(info.GetCurrentHistoryLength())
}

// lull is for how long nobody has asked; 0 while there is anything left to say.
func (a *admissionRun) lull() time.Duration {
	if a.requests.Len()+len(a.sent)+len(a.outbox) > 0 {
		return 0
	}
	return workflow.Now(a.ctx).Sub(a.lastTaken)
}

// awaitLull wakes the run when it may have been quiet for long enough. One timer
// runs at a time and is not set back by requests: that would cost two events each.
func (a *admissionRun) awaitLull() {
	info := workflow.GetInfo(a.ctx)
	if a.lullTimer != nil || !info.GetContinueAsNewSuggested() {
		return
	}
	wait := max(admissionLull(info.GetCurrentHistoryLength())-a.lull(), time.Millisecond)
	a.lullTimer = workflow.NewTimerWithOptions(a.ctx, wait, workflow.TimerOptions{Summary: "continue as new if nobody asks"})
}

func (a *admissionRun) lullOver() bool { return a.lullTimer != nil && a.lullTimer.IsReady() }
