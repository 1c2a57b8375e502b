package run

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/instant"
	engine "github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/workflows/entity"
	"github.com/roundsman/roundsman/workflows/recorder"
)

// Options are the options of [New].
type Options struct {
	// JobType is the name of the run's kind in audit entries: a job type, or a DAG.
	JobType string
	// Watch selects the workers for the run.
	Watch contract.WatchFleetInput
	// Request has the constant fields of requests to admission.
	Request contract.AdmissionRequest
	// Results means that other items see the result of an item.
	Results bool
	// Calls means that the run calls admission within the workflow task. A task that fails after the call is repeated with
	// later messages. If these may keep the run open, it uses [Link.ReleaseBySignal] before its end.
	Calls bool
}

// Runner connects the core of one workflow run with Temporal.
type Runner struct {
	paging

	// root is the workflow's own context. Its cancellation does not reach ctx, so that a canceled run can end its items.
	root, ctx, noop workflow.Context
	options         Options
	// Audit records operators' actions, and work that the run refuses or delays.
	Audit     *recorder.Recorder
	Admission *Link

	inbox     inbox
	attempts  []attempt
	given     map[string]bool
	probes    []probe
	reports   reports
	fleet     subscription
	timers    entity.Timers
	fenceAsks int
	touched   bool
	canceled  bool
}

// inbox has the signals that every run receives.
type inbox struct {
	cancel, pause, resume, outcome, room, fleet, lane, admission, reassert workflow.ReceiveChannel
}

func (m inbox) waiting() bool {
	return m.cancel.Len()+m.lane.Len()+m.pause.Len()+m.resume.Len()+m.outcome.Len()+m.room.Len()+m.fleet.Len()+m.admission.Len()+m.reassert.Len() > 0
}

// New registers the signals of a run.
func New(ctx workflow.Context, options Options) *Runner {
	detached, _ := workflow.NewDisconnectedContext(ctx)
	object := workflow.GetInfo(ctx).WorkflowExecution.ID
	return &Runner{
		paging: paging{ctx: detached},
		root:   ctx, ctx: detached, noop: noopContext(detached), options: options, reports: reports{ctx: detached},
		Audit:     recorder.New(detached, recorder.RunPace, contract.AuditEntry{JobType: options.JobType, Object: object}),
		Admission: newLink(detached, options.Request, options.Calls),
		inbox: inbox{
			cancel:    workflow.GetSignalChannel(detached, contract.SignalCancelRun),
			pause:     workflow.GetSignalChannel(detached, contract.SignalPause),
			resume:    workflow.GetSignalChannel(detached, contract.SignalResume),
			outcome:   workflow.GetSignalChannel(detached, contract.SignalJobOutcome),
			room:      workflow.GetSignalChannel(detached, contract.SignalWorkerRoom),
			fleet:     workflow.GetSignalChannel(detached, contract.SignalFleetChanged),
			lane:      workflow.GetSignalChannel(detached, contract.SignalLaneReport),
			admission: workflow.GetSignalChannel(detached, contract.SignalAdmissionAnswer),
			reassert:  workflow.GetSignalChannel(detached, contract.SignalReassert),
		},
	}
}

// Context survives a cancellation of the workflow.
func (r *Runner) Context() workflow.Context { return r.ctx }

// Now returns the workflow's time.
func (r *Runner) Now() time.Time { return workflow.Now(r.ctx) }

// SetJobType sets the run's kind, when it becomes known.
func (r *Runner) SetJobType(name string) {
	r.Admission.base.JobType = name
	r.Audit.SetJobType(name)
}

// History returns the length of the workflow's history, in events and bytes.
func (r *Runner) History() (events, bytes int) {
	info := workflow.GetInfo(r.ctx)
	return info.GetCurrentHistoryLength(), info.GetCurrentHistorySize()
}

// Touch makes the workflow loop run after an update handler has changed the state.
func (r *Runner) Touch() { r.touched = true }

// Canceled reports whether the workflow was canceled.
func (r *Runner) Canceled() bool { return errors.Is(r.root.Err(), workflow.ErrCanceled) }

// NewlyCanceled reports once that the workflow was canceled.
func (r *Runner) NewlyCanceled() bool {
	if r.canceled || !r.Canceled() {
		return false
	}
	r.canceled = true
	return true
}

// Ready reports whether there is anything to collect.
func (r *Runner) Ready() bool {
	for i := range r.attempts {
		if r.attempts[i].future.IsReady() || r.attempts[i].adoption.answered() {
			return true
		}
	}
	if r.touched || !r.canceled && r.Canceled() || r.inbox.waiting() || r.Admission.transit.ready() || r.Audit.Ready() || r.timers.Fired() {
		return true
	}
	for i := range r.probes {
		if r.probes[i].future.IsReady() {
			return true
		}
	}
	return r.reports.ready() || r.fleet.sending != nil && r.fleet.sending.IsReady()
}

// Wait blocks until ready returns true, or until wake. If ordered is false, commands wait for another workflow task,
// and Wait returns in that one.
func (r *Runner) Wait(wake time.Time, ordered bool, ready func() bool) error {
	if !ordered {
		wake = r.Now()
	}
	r.flush()
	if r.Admission.transit.calling {
		return workflow.Await(r.ctx, ready)
	}
	wake = instant.Earlier(wake, r.fleet.renew.at)
	wake = instant.Earlier(wake, r.Admission.wake())
	wake = instant.Earlier(wake, r.unsaved())
	r.timers.SetBy(r.ctx, instant.Earlier(wake, r.Audit.Wake()))
	return workflow.Await(r.ctx, ready)
}

// Await is Wait without a timer, for events within the workflow task.
func (r *Runner) Await(ready func() bool) error {
	r.flush()
	return workflow.Await(r.ctx, ready)
}

func (r *Runner) flush() {
	r.Admission.flush()
	r.Audit.Flush()
}

// Collect returns whether a timer has fired; the core then gets a tick, as the last event.
func (r *Runner) Collect() (tick bool) {
	r.touched = false
	r.reports.collect()
	r.collectAdoptions()
	r.Audit.Collect()
	tick = r.timers.ClearFired()
	r.collectFleet()
	return tick
}

// Idle reports whether continue-as-new would lose nothing. The engine repeats a lost probe.
func (r *Runner) Idle() bool {
	return !r.touched && (r.canceled || !r.Canceled()) && r.fleet.sending == nil && r.Admission.transit.idle() && !r.Admission.dirty && r.Audit.Idle() && !r.inbox.waiting() && r.unsaved().IsZero() && r.reports.idle()
}

// CarryOut carries out a decision, except Start, Adopt and Acquire, which depend on the kind of item.
func (r *Runner) CarryOut(d engine.Decision, name string) {
	switch d.Kind {
	case engine.Start, engine.Adopt, engine.Acquire:
	case engine.Cancel:
		r.cancelAttempt(d)
	case engine.Forget:
		r.forgetAttempt(d)
	case engine.Abandon:
		r.abandonAttempt(d)
	case engine.Probe:
		r.probe(d.Worker, d.Instance)
	case engine.ReportTrouble, engine.ClearTrouble:
		r.reports.add(d)
	case engine.Watch:
		r.Watch()
	case engine.Release:
		r.Admission.Release(contract.AskID(name, d.Ask))
	case engine.MoreFences:
		r.moreFences()
	}
}

// Note records a decision that refused or delayed work.
func (r *Runner) Note(note engine.Note, object string) {
	r.Audit.Decided(recorder.Decision{
		Action: string(note.Verdict), Code: string(note.Code), Detail: note.Detail, Object: object, N: note.Count, Waited: note.Waited,
	})
}

// Close waits for the last deliveries: an ended workflow cannot send.
func (r *Runner) Close(last ...contract.AdmissionEndings) error {
	r.Audit.Hurry()
	r.Audit.Flush()
	if err := r.Admission.close(last...); err != nil {
		return err
	}
	if err := r.reports.settle(); err != nil {
		return err
	}
	return r.Audit.Settle()
}

// InFlight returns the number of attempts that have not ended.
func (r *Runner) InFlight() int { return len(r.attempts) }

// Details returns the Web UI text: the wait, if any, its explain command, and the progress.
func (r *Runner) Details(wait *contract.WaitReason, progress string) string {
	if wait == nil {
		return progress
	}
	return fmt.Sprintf("%s\n`roundsman explain %s`\n\n%s", wait, workflow.GetInfo(r.ctx).WorkflowExecution.ID, progress)
}

// SetOutcome makes the outcome searchable, unless Temporal's own status shows it.
func (r *Runner) SetOutcome(outcome contract.Outcome) {
	if outcome == contract.OutcomeCompleted {
		return
	}
	key := temporal.NewSearchAttributeKeyKeyword(contract.SearchAttributeOutcome)
	if err := workflow.UpsertTypedSearchAttributes(r.ctx, key.ValueSet(string(outcome))); err != nil {
		workflow.GetLogger(r.ctx).Error("The outcome cannot be made searchable.", "error", err)
	}
}
