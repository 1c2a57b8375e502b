package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/dispatch"
	"github.com/roundsman/roundsman/internal/placement"
	"github.com/roundsman/roundsman/internal/window"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/workflows/recorder"
)

// windowClosed is the code of docs/explain.md.
const windowClosed = "WINDOW_CLOSED_UNTIL"

// windowState is what the group knows of its maintenance windows. A group
// without any has an empty one and never asks.
type windowState struct {
	// asking is the question on its way; known is the last answer.
	asking workflow.Future
	known  *contract.WindowsResult
	// broken is why the calendars cannot be read; then the window stays closed.
	broken string
	// waitingSince is when the group found its window closed, opens when it opens.
	waitingSince, opens time.Time
}

// ignoresWindow: a dry run changes nothing, and a person may insist.
func (r *groupRun) ignoresWindow() bool {
	return r.in.DryRun || r.in.IgnoresWindow(workflow.GetInfo(r.ctx).WorkflowExecution.ID)
}

func (r *groupRun) hasWindows() bool {
	return !r.ignoresWindow() && !(r.in.Spec.Calendar.Empty() && r.in.Spec.LaneCalendar.Empty())
}

// askWindows asks for the next open spans, from now on.
func (r *groupRun) askWindows() {
	r.window.asking = callWindows(r.ctx, contract.WindowsInput{
		At: workflow.Now(r.ctx), JobType: r.in.Spec.Name, Lane: r.in.Spec.Lane,
		Calendar: r.in.Spec.Calendar, LaneCalendar: r.in.Spec.LaneCalendar,
	})
}

// windowReady reports whether there is an answer, or another calendar.
func (r *groupRun) windowReady() bool {
	return r.window.asking != nil && r.window.asking.IsReady() || r.messages.calendar.Len() > 0
}

// collectWindow takes changed calendars and the answers about them.
func (r *groupRun) collectWindow() {
	changed := false
	for {
		var in contract.SetCalendarInput
		if !r.messages.calendar.ReceiveAsync(&in) {
			break
		}
		r.auditCalendar(in)
		r.in.Spec.Calendar, r.in.Spec.LaneCalendar = in.Calendar, in.LaneCalendar
		changed = true
	}
	switch {
	case changed && r.hasWindows():
		r.askWindows() // What was asked before does not matter any more.
	case changed && !r.ignoresWindow():
		r.window.asking, r.window.known = nil, nil
		r.tellWindow()
	}
	if r.window.asking == nil || !r.window.asking.IsReady() {
		return
	}
	var result contract.WindowsResult
	err := r.window.asking.Get(r.ctx, &result)
	r.window.asking = nil
	if err != nil {
		// It is retried until it succeeds, so it was refused. A group that runs goes
		// on with what it knows.
		workflow.GetLogger(r.ctx).Error("The maintenance windows cannot be worked out.", "error", err)
		r.window.broken = endingOf(err, "").Message
		return
	}
	r.window.known, r.window.broken = &result, ""
	r.tellWindow()
}

func (r *groupRun) tellWindow() {
	if r.core == nil {
		return
	}
	r.recalled()
	told := dispatch.Window{}
	if w := r.coreWindow(); w != nil {
		told = *w
	}
	r.step(dispatch.WindowSet{Window: told})
}

// coreWindow is the open span that the group is in, or one that has closed. nil
// if there are no windows.
func (r *groupRun) coreWindow() *dispatch.Window {
	known := r.window.known
	if known == nil {
		return nil
	}
	now := workflow.Now(r.ctx)
	told := &dispatch.Window{Closes: now, Longest: known.Longest.Std()}
	told.Learned, told.LearnedOf = r.learned()
	for i, span := range known.Open {
		if !span.To.IsZero() && !now.Before(span.To) {
			continue
		}
		if now.Before(span.From) {
			told.Next = span.From
			return told
		}
		told.Closes = span.To
		if i+1 < len(known.Open) {
			told.Next = known.Open[i+1].From
		}
		return told
	}
	return told
}

// learned is the run time that a job without an estimate is taken to need.
func (r *groupRun) learned() (p95 time.Duration, of int) {
	took := tookOf(r.record)
	if p95, known := window.P95(took); known {
		return p95, len(took)
	}
	return 0, 0
}

// closedUntil says when the window opens if it is closed now; a zero time if it
// never does.
func (r *groupRun) closedUntil() (opens time.Time, closed bool) {
	w := r.coreWindow()
	if w == nil || w.Closes.IsZero() || workflow.Now(r.ctx).Before(w.Closes) {
		return time.Time{}, false
	}
	return w.Next, true
}

// awaitWindow waits until the window opens, if that is not longer than the group
// would wait for its lane. It returns why the group is skipped, or "".
func (r *groupRun) awaitWindow() (string, error) {
	if !r.hasWindows() {
		return "", nil
	}
	began := workflow.Now(r.ctx)
	r.window.waitingSince = began
	for r.askWindows(); !r.stopAsked(); {
		if err := workflow.Await(r.ctx, r.windowChanged); err != nil {
			return "", err
		}
		r.timers.ClearFired()
		r.collectWindow()
		r.collectAdmission()
		r.link.flush()
		if r.window.asking != nil {
			continue
		}
		if r.window.broken != "" {
			return windowClosed + ": " + r.window.broken, nil
		}
		opens, closed := r.closedUntil()
		if !closed {
			r.auditWindow()
			break
		}
		if until := r.windowDeadline(began); opens.IsZero() || !until.IsZero() && opens.After(until) {
			return r.closedText(opens), nil
		}
		r.window.opens = opens
		workflow.SetCurrentDetails(r.ctx, "**waiting** · "+r.closedText(opens))
		r.timers.SetBy(r.ctx, opens)
	}
	r.window.opens = time.Time{}
	return "", nil
}

// windowDeadline is until when the group waits for its window: as long as it
// would for its lane. Zero: for ever.
func (r *groupRun) windowDeadline(began time.Time) time.Time {
	if r.adHoc() {
		return r.laneDeadline()
	}
	return began.Add(r.patience())
}

// windowChanged: admission is answered meanwhile, too, which waits for everybody
// when it was started anew.
func (r *groupRun) windowChanged() bool { return r.windowReady() || r.firstChanged() }

// closedText is the reason of a group that is skipped.
func (r *groupRun) closedText(opens time.Time) string {
	why := ""
	if r.window.known != nil && r.window.known.Closed != "" {
		why = ": " + r.window.known.Closed
	}
	if opens.IsZero() {
		return windowClosed + ": no window opens within 400 days" + why
	}
	return fmt.Sprintf("%s %s%s", windowClosed, opens.UTC().Format(time.RFC3339), why)
}

// toldClosed reports whether a run before this one was skipped until the same
// opening. A job type that ticks all day and may run at night would fill the
// audit log with what its first tick said.
func (r *groupRun) toldClosed() bool {
	opens, closed := r.closedUntil()
	if !closed || opens.IsZero() || r.adHoc() {
		return false
	}
	told := r.record.ClosedUntil.Equal(opens)
	r.record.ClosedUntil = opens
	return told
}

// auditWindow tells of a closed window that was waited for.
func (r *groupRun) auditWindow() {
	if waited := workflow.Now(r.ctx).Sub(r.window.waitingSince); waited >= placement.Noticeable {
		r.trail.Decided(recorder.Decision{Action: recorder.Delayed, Code: windowClosed, Detail: "it waited for its window to open", Waited: waited})
	}
}

// auditCalendar tells of other windows for the running group.
func (r *groupRun) auditCalendar(in contract.SetCalendarInput) {
	was, is := recorder.Changes(
		contract.SetCalendarInput{Calendar: r.in.Spec.Calendar, LaneCalendar: r.in.Spec.LaneCalendar}, in)
	r.trail.Signaled(contract.SignalSetCalendar, contract.AuditEntry{Action: "calendar.set", Before: was, After: is})
}

// windowWait is what a group waits for that has not asked for its lane yet.
func (r *groupRun) windowWait() *contract.WaitReason {
	if r.window.opens.IsZero() || r.window.known == nil {
		return nil
	}
	return &contract.WaitReason{
		Code: windowClosed, Object: r.in.Spec.Name, Since: r.window.waitingSince, Until: r.window.opens,
		Detail: r.window.known.Closed,
	}
}

// closesAt is when the window closes that the group waits in; zero: never.
func (r *groupRun) closesAt() time.Time {
	if w := r.coreWindow(); w != nil {
		return w.Closes
	}
	return time.Time{}
}

func tookOf(record contract.RunRecord) []time.Duration {
	took := make([]time.Duration, len(record.TookMS))
	for i, ms := range record.TookMS {
		took[i] = time.Duration(ms) * time.Millisecond
	}
	return took
}

// withLearned adds what the group has learned to the record: run times, and the
// checkpoints of jobs that others go on with.
func (r *groupRun) withLearned(record contract.RunRecord) contract.RunRecord {
	took := append([]int64(nil), record.TookMS...)
	for _, one := range r.core.Took() {
		took = append(took, one.Milliseconds())
	}
	record.TookMS = took[max(0, len(took)-window.MaxKnown):]
	record.Checkpoints = nil
	for _, kept := range r.core.Kept() {
		record.Checkpoints = append(record.Checkpoints, contract.KeptCheckpoint(kept))
	}
	return record
}

func keptOf(record contract.RunRecord) []dispatch.Kept {
	var kept []dispatch.Kept
	for _, one := range record.Checkpoints {
		kept = append(kept, dispatch.Kept(one))
	}
	return kept
}

// windowStatus is what status tells of the window.
func windowStatus(w *dispatch.Window) *contract.GroupWindow {
	if w == nil {
		return nil
	}
	return &contract.GroupWindow{Closes: w.Closes, Next: w.Next, Learned: jobtype.Duration(w.Learned), LearnedOf: w.LearnedOf}
}

// droppedCheckpoints are those that nobody goes on with; nil: there are none. An
// ad-hoc group leaves none to anybody.
func (r *groupRun) droppedCheckpoints() *contract.DroppedCheckpoints {
	dropped := contract.DroppedCheckpoints(r.core.Dropped())
	if r.adHoc() {
		for _, kept := range r.core.Kept() {
			dropped.Count++
			dropped.Keys = append(dropped.Keys, kept.Key)
		}
	}
	if dropped.Count == 0 {
		return nil
	}
	return &dropped
}
