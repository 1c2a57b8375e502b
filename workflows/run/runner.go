package run

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	engine "github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/workflows/entity"
	"github.com/roundsman/roundsman/workflows/recorder"
)

// Options describe a run.
type Options struct {
	// JobType is what audit entries call the run's kind: a job type, or a DAG.
	JobType string
	// Watch says which workers the run must know.
	Watch contract.WatchFleetInput
	// Request is what every request to admission has: the declaration of pools, the
	// budget, the grace.
	Request contract.AdmissionRequest
	// Results: other items see the result of an item.
	Results bool
	// Calls: admission is called within the workflow task for a turn and for the
	// last release. That is for runs that nothing brings back once they have decided
	// to end: a task that fails after the call is repeated with what came meanwhile.
	Calls bool
}

// Runner is one workflow run between its core and Temporal.
type Runner struct {
	// root is the workflow's own context, ctx one that its cancellation does not
	// reach, so that a canceled run can end its items properly.
	root, ctx, noop workflow.Context
	options         Options
	// Audit records what operators do and what the run refuses or delays.
	Audit *recorder.Recorder
	// Admission is the way to admission.
	Admission *Link

	inbox    inbox
	attempts []attempt
	// given are the processes that were sent what the items have in common; a run that
	// continues as new sends it again.
	given  map[string]bool
	probes []probe
	fleet  subscription
	timers entity.Timers
	// fenceAsks counts the requests for more fences.
	fenceAsks int
	// saveAt is when a state that could not be stored is stored again.
	saveAt   time.Time
	touched  bool
	canceled bool
}

// inbox has the signals that every run takes.
type inbox struct {
	pause, resume, outcome, room, fleet, admission, reassert workflow.ReceiveChannel
}

func (m inbox) waiting() bool {
	return m.pause.Len()+m.resume.Len()+m.outcome.Len()+m.room.Len()+m.fleet.Len()+m.admission.Len()+m.reassert.Len() > 0
}

// New opens a run to its messages.
func New(ctx workflow.Context, options Options) *Runner {
	detached, _ := workflow.NewDisconnectedContext(ctx)
	object := workflow.GetInfo(ctx).WorkflowExecution.ID
	return &Runner{
		root: ctx, ctx: detached, noop: noopContext(detached), options: options,
		Audit:     recorder.New(detached, recorder.RunPace, contract.AuditEntry{JobType: options.JobType, Object: object}),
		Admission: newLink(detached, options.Request, options.Calls),
		inbox: inbox{
			pause:     workflow.GetSignalChannel(detached, contract.SignalPause),
			resume:    workflow.GetSignalChannel(detached, contract.SignalResume),
			outcome:   workflow.GetSignalChannel(detached, contract.SignalJobOutcome),
			room:      workflow.GetSignalChannel(detached, contract.SignalWorkerRoom),
			fleet:     workflow.GetSignalChannel(detached, contract.SignalFleetChanged),
			admission: workflow.GetSignalChannel(detached, contract.SignalAdmissionAnswer),
			reassert:  workflow.GetSignalChannel(detached, contract.SignalReassert),
		},
	}
}

// Context survives a cancellation of the workflow. Everything in the run uses it.
func (r *Runner) Context() workflow.Context { return r.ctx }

// Now is the workflow's time.
func (r *Runner) Now() time.Time { return workflow.Now(r.ctx) }

// SetJobType renames the run's kind, once that is known.
func (r *Runner) SetJobType(name string) {
	r.Admission.base.JobType = name
	r.Audit.SetJobType(name)
}

// History is the length of the workflow's history, in events and bytes.
func (r *Runner) History() (events, bytes int) {
	info := workflow.GetInfo(r.ctx)
	return info.GetCurrentHistoryLength(), info.GetCurrentHistorySize()
}

// Touch makes the workflow look again: the handler of an update has changed
// something.
func (r *Runner) Touch() { r.touched = true }

// Canceled reports whether somebody canceled the workflow.
func (r *Runner) Canceled() bool { return errors.Is(r.root.Err(), workflow.ErrCanceled) }

// NewlyCanceled reports once that somebody canceled the workflow.
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
		if r.attempts[i].future.IsReady() {
			return true
		}
	}
	if r.touched || !r.canceled && r.Canceled() || r.inbox.waiting() || r.Admission.ready() || r.Audit.Ready() || r.timers.Fired() {
		return true
	}
	for i := range r.probes {
		if r.probes[i].future.IsReady() {
			return true
		}
	}
	return r.fleet.sending != nil && r.fleet.sending.IsReady()
}

// Wait sends what is to be sent, and blocks until ready reports true or until wake,
// when the core must get the time. With ordered false commands wait for a workflow
// task of their own, and Wait returns in the next one.
func (r *Runner) Wait(wake time.Time, ordered bool, ready func() bool) error {
	if !ordered {
		wake = r.Now()
	}
	r.flush()
	if r.Admission.calling {
		return workflow.Await(r.ctx, ready)
	}
	wake = entity.Earlier(wake, r.fleet.renew.at)
	wake = entity.Earlier(wake, r.Admission.wake())
	if r.Now().Before(r.saveAt) {
		wake = entity.Earlier(wake, r.saveAt)
	}
	r.timers.SetBy(r.ctx, entity.Earlier(wake, r.Audit.Wake()))
	return workflow.Await(r.ctx, ready)
}

// Await is Wait without a timer, for what ends within the workflow task.
func (r *Runner) Await(ready func() bool) error {
	r.flush()
	return workflow.Await(r.ctx, ready)
}

func (r *Runner) flush() {
	r.Admission.flush()
	r.Audit.Flush()
}

// Collect takes in what the core need not know. It returns whether time has passed
// for which a timer was set: the core gets a tick then, as the last event.
func (r *Runner) Collect() (tick bool) {
	r.touched = false
	r.Audit.Collect()
	tick = r.timers.ClearFired()
	r.collectFleet()
	return tick
}

// Idle reports whether nothing is on its way that would be lost if the workflow
// continued as new. A lost probe is requested again by the engine.
func (r *Runner) Idle() bool {
	return !r.touched && r.fleet.sending == nil && r.Admission.idle() && !r.Admission.dirty && r.Audit.Idle() && !r.inbox.waiting() && !r.Now().Before(r.saveAt)
}

// CarryOut does what a decision says, but for Start, Adopt and Acquire, which
// depend on what the item is. name is the item's, where the decision is about one.
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
		r.reportTrouble(d)
	case engine.Watch:
		r.Watch()
	case engine.Release:
		r.Admission.Release(contract.AskID(name, d.Ask))
	case engine.MoreFences:
		r.moreFences()
	}
}

// Note records one decision that refused or delayed work. object is the name of the
// item, if it is about one.
func (r *Runner) Note(note engine.Note, object string) {
	r.Audit.Decided(recorder.Decision{
		Action: string(note.Verdict), Code: string(note.Code), Detail: note.Detail, Object: object, N: note.Count, Waited: note.Waited,
	})
}

// Close gives everything back, reports the last endings, and waits until all that
// is recorded: a workflow that has ended cannot send any more.
func (r *Runner) Close(last ...contract.AdmissionEndings) error {
	r.Audit.Hurry()
	r.Audit.Flush()
	if err := r.Admission.close(last...); err != nil {
		return err
	}
	return r.Audit.Settle()
}

// InFlight is how many attempts have not ended.
func (r *Runner) InFlight() int { return len(r.attempts) }

// Details is the text of the Web UI for a run: what it waits for, if anything, the
// command that says more, and where it is.
func (r *Runner) Details(wait *contract.WaitReason, progress string) string {
	if wait == nil {
		return progress
	}
	return fmt.Sprintf("%s\n`roundsman explain %s`\n\n%s", wait, workflow.GetInfo(r.ctx).WorkflowExecution.ID, progress)
}

// SetOutcome makes the outcome searchable, unless Temporal's own status tells it.
func (r *Runner) SetOutcome(outcome contract.Outcome) {
	if outcome == contract.OutcomeCompleted {
		return
	}
	key := temporal.NewSearchAttributeKeyKeyword(contract.SearchAttributeOutcome)
	if err := workflow.UpsertTypedSearchAttributes(r.ctx, key.ValueSet(string(outcome))); err != nil {
		workflow.GetLogger(r.ctx).Error("The outcome cannot be made searchable.", "error", err)
	}
}
