package entity

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/instant"
	"github.com/roundsman/roundsman/workflows/recorder"
)

// Loop is one run of an entity between its core and Temporal.
type Loop struct {
	// root is the context that a cancellation ends, ctx is detached from it.
	root, ctx workflow.Context
	name      string
	Audit     *recorder.Recorder
	tasks     Tasks
	timers    Timers
	// predecessor returns the end of the previous chain of runs; nil if it was read.
	predecessor workflow.Future
	passed      []string
	// run is the last noticed id of the workflow run; before is the run that was reset, until [Loop.WasReset] returns it.
	run, before  string
	canceled     bool
	touched      bool
	received     int
	lastReceived time.Time
}

// Options describe an entity.
type Options struct {
	// Name is the name in audit entries: the workflow id.
	Name string
	// Audit has the unrecorded entries of the run before; nil if there are none.
	Audit *contract.AuditTrailState
	// Continued: the run continues another one as new, or itself finds the end of the run before.
	Continued bool
	// Passed lists earlier runs whose ends may be missing in the audit log.
	Passed []string
}

// New begins a run.
func New(ctx workflow.Context, options Options) *Loop {
	detached, _ := workflow.NewDisconnectedContext(ctx)
	l := &Loop{root: ctx, ctx: detached, name: options.Name, lastReceived: workflow.Now(ctx)}
	l.Audit = recorder.New(detached, recorder.EntityPace, contract.AuditEntry{})
	l.Audit.Restore(options.Audit)
	l.passed = options.Passed
	if !options.Continued || len(options.Passed) > 0 {
		l.predecessor = callEntityEnd(detached, contract.EntityEndInput{
			WorkflowID: options.Name, RunID: workflow.GetInfo(ctx).WorkflowExecution.RunID, Passed: options.Passed,
		})
	}
	l.NoticeReset()
	return l
}

// Context survives a cancellation of the workflow.
func (l *Loop) Context() workflow.Context { return l.ctx }

// Now is the workflow's time.
func (l *Loop) Now() time.Time { return workflow.Now(l.ctx) }

// Touch makes the next [Loop.Wait] return at once.
func (l *Loop) Touch() { l.touched = true }

// Received notes that messages came.
func (l *Loop) Received(n int) {
	if n > 0 {
		l.received, l.lastReceived = l.received+n, l.Now()
	}
}

// Fits takes an order of that size into the current workflow task, if there is room.
func (l *Loop) Fits(size int) bool { return l.tasks.Fits(l.ctx, size) }

// Flush sends due entries to the audit log.
func (l *Loop) Flush() { l.Audit.Flush() }

// Wait blocks until woken reports true, until the deadline unless zero, or until the loop has work. It writes an
// event only if no earlier timer runs.
func (l *Loop) Wait(deadline time.Time, woken func() bool) error {
	l.timers.SetBy(l.ctx, instant.Earlier(deadline, l.Audit.Wake()))
	err := workflow.Await(l.ctx, func() bool { return l.woken() || woken() })
	if err != nil {
		return err
	}
	l.touched = false
	l.timers.ClearFired()
	l.Audit.Collect()
	l.noticePredecessor()
	if l.predecessor == nil && l.Audit.Idle() {
		l.passed = nil
	}
	l.noticeCancel()
	l.NoticeReset()
	return nil
}

// Passed are earlier runs whose ends are not in the audit log yet.
func (l *Loop) Passed() []string { return l.passed }

// EndUnknown reports whether the end of the chain of runs before this one is still looked up.
func (l *Loop) EndUnknown() bool { return l.predecessor != nil }

func (l *Loop) woken() bool {
	return l.touched || l.timers.Fired() || l.newlyCanceled() || l.Audit.Ready() || l.predecessorKnown()
}

func (l *Loop) predecessorKnown() bool { return l.predecessor != nil && l.predecessor.IsReady() }

func (l *Loop) noticePredecessor() {
	if !l.predecessorKnown() {
		return
	}
	var end contract.EntityEndResult
	err := l.predecessor.Get(l.ctx, &end)
	l.predecessor = nil
	if err != nil {
		workflow.GetLogger(l.ctx).Warn("How the run before this one ended is not known.", "workflow", l.name, "error", err)
		return
	}
	if end.Entry != nil {
		l.Audit.Add(*end.Entry)
	}
	for _, entry := range end.Passed {
		l.Audit.Add(entry)
	}
}

func (l *Loop) newlyCanceled() bool { return !l.canceled && l.root.Err() != nil }

func (l *Loop) noticeCancel() {
	if !l.newlyCanceled() {
		return
	}
	l.canceled = true
	workflow.GetLogger(l.ctx).Warn("A cancellation is ignored: only a termination ends it.", "workflow", l.name)
	l.Audit.Canceled(contract.AuditEntry{Action: l.name + ".cancel", Object: l.name, Code: "CANCEL_IGNORED"})
}

// NoticeReset compares run IDs for [Loop.WasReset]. The ID comes from a side effect, which replays the value recorded
// before the reset. [Loop.Wait] calls it too, but after the handlers of updates.
func (l *Loop) NoticeReset() {
	var run string
	info := workflow.GetInfo(l.ctx)
	value := workflow.MutableSideEffect(l.ctx, "run", func(workflow.Context) any {
		return info.WorkflowExecution.RunID
	}, func(x, y any) bool { return x == y })
	if l.run == "" {
		// A reset to before the first side effect. A test environment has no original run.
		l.run = cmp.Or(info.OriginalRunID, info.WorkflowExecution.RunID)
	}
	if err := value.Get(&run); err != nil || run == l.run {
		return
	}
	workflow.GetLogger(l.ctx).Warn("The workflow was reset.", "workflow", l.name)
	l.Audit.Reset(contract.AuditEntry{Action: l.name + ".reset", Object: l.name, Before: "run " + l.run, After: "run " + run})
	l.before, l.run = l.run, run
}

// WasReset reports once that an operator has reset the workflow: all changes since the point of reset are lost.
func (l *Loop) WasReset() (before string, reset bool) {
	before, l.before = l.before, ""
	return before, before != ""
}

// Finish waits for the handlers. Messages of this workflow task must still be read before continuing as new.
func (l *Loop) Finish() error {
	return workflow.Await(l.ctx, func() bool { return workflow.AllHandlersFinished(l.ctx) })
}
