package flow

import (
	"cmp"
	"container/heap"
	"time"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/placement"
)

type timerKind uint8

const (
	timerDeadline timerKind = iota
	timerRelease
	timerReady    // a retry's backoff is over
	timerSleep    // a sleep task is done
	timerApproval // nobody has approved in time
	timerRecall   // the grace for a lost attempt's outcome is over
	timerForget   // a canceled attempt has not ended
	timerWake     // a worker has cooled down
	timerTry      // a worker that looks full may be tried
	timerNoWorker // the task may have waited for a worker for too long
)

// timer is a moment at which something must be looked at again. Whether it
// still matters is decided when it fires.
type timer struct {
	at      time.Time
	kind    timerKind
	task    dag.Index
	attempt int
}

// compare orders timers completely, so that those of one moment fire in the
// same order after Restore.
func (t timer) compare(o timer) int {
	return cmp.Or(t.at.Compare(o.at), cmp.Compare(t.kind, o.kind), cmp.Compare(t.task, o.task), cmp.Compare(t.attempt, o.attempt))
}

//nolint:recvcheck // as container/heap wants it: methods that change the length need the pointer
type timers []timer

func (h timers) Len() int           { return len(h) }
func (h timers) Less(i, j int) bool { return h[i].compare(h[j]) < 0 }
func (h timers) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *timers) Push(x any) {
	if t, ok := x.(timer); ok {
		*h = append(*h, t)
	}
}

// Pop implements heap.Interface.
func (h *timers) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func (h *timers) push(t timer) { heap.Push(h, t) }

// NextWake is when Tick must be called at the latest even if nothing happens;
// zero if nothing is waited for.
func (f *Flow) NextWake() time.Time {
	for len(f.timers) > 0 && !f.matters(f.timers[0]) {
		heap.Pop(&f.timers)
	}
	if len(f.timers) == 0 {
		return time.Time{}
	}
	return f.timers[0].at
}

// matters drops timers whose reason has gone, so that nobody is woken for
// nothing.
func (f *Flow) matters(t timer) bool {
	if f.run.Finished() {
		return false
	}
	switch t.kind {
	case timerDeadline:
		return !f.run.Ending() && t.at.Equal(f.deadline)
	case timerRelease:
		return f.run.Held() && t.at.Equal(f.heldUntil)
	case timerWake:
		return true
	case timerTry:
		return t.at.Equal(f.tryAt)
	case timerReady, timerSleep, timerApproval, timerRecall, timerForget, timerNoWorker:
	}
	task := f.live[t.task]
	if task == nil || task.attempt != t.attempt || task.phase != t.kind.phase() {
		return false
	}
	return t.kind == timerForget || t.kind == timerNoWorker || t.at.Equal(task.until)
}

// phase is the one that a task must be in for a timer of its to matter.
func (k timerKind) phase() phase {
	switch k {
	case timerReady:
		return phaseBackoff
	case timerSleep:
		return phaseSleeping
	case timerApproval:
		return phaseApproval
	case timerRecall:
		return phaseRecalling
	case timerForget:
		return phaseRunning
	case timerNoWorker:
		return phaseWaiting
	case timerDeadline, timerRelease, timerWake, timerTry:
	}
	return phaseNone
}

func (f *Flow) fireTimers(now time.Time) {
	for len(f.timers) > 0 && !f.timers[0].at.After(now) {
		t, ok := heap.Pop(&f.timers).(timer)
		if ok && f.matters(t) {
			f.roll.progress = true
			f.fire(t, now)
		}
	}
}

func (f *Flow) fire(t timer, now time.Time) {
	switch t.kind {
	case timerDeadline:
		f.reason = "the deadline of " + f.deadline.Sub(f.startedAt).String() + " is over"
		f.note(placement.Ended, placement.NoteDeadline, nil, f.reason, 0)
		f.must(dag.Event{Kind: dag.EventDeadline}, now)
		f.unpause()
	case timerRelease:
		f.must(dag.Event{Kind: dag.EventRelease}, now)
	case timerReady:
		f.again(f.live[t.task], now)
	case timerSleep:
		f.succeed(f.live[t.task], nil, now)
	case timerApproval:
		task := f.live[t.task]
		f.note(placement.Ended, placement.NoteDeadline, task, "nobody approved it in time", 0)
		f.fail(task, "nobody approved it within "+task.definition.Approval.Timeout.String(), now)
	case timerRecall:
		f.lose(f.live[t.task], now)
	case timerForget:
		f.forget(f.live[t.task], now)
	case timerWake:
		f.unblock()
	case timerTry:
		f.tryAt = time.Time{}
		f.unblock()
	case timerNoWorker:
		f.giveUpWaiting(f.live[t.task], now)
	}
}
