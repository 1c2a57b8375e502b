package fleet

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/fleet"
	"github.com/roundsman/roundsman/internal/engine/instant"
	"github.com/roundsman/roundsman/workflows/entity"
)

const (
	// observerPause follows a final failure: the server's configuration must change first.
	observerPause = 5 * time.Minute
	// cancelPause follows a cancellation by the server, which it does briefly during a restart.
	cancelPause = time.Second
)

// limits bounds one run: an observation of 5,000 workers is an input of 200 KiB.
func limits() entity.Limits {
	l := entity.DefaultLimits()
	l.Events = 10_000
	return l
}

// Workflow is the one worker registry of a namespace. A cancellation has no effect; it fails only on a bug.
//
// Each of its clients can start it, so a terminated registry is rebuilt within seconds. Its transitions and the
// operators' settings of absent workers are lost then; present workers repeat their settings.
func Workflow(ctx workflow.Context, in contract.FleetInput) error {
	r, err := newRun(ctx, in)
	if err != nil {
		return err
	}
	for {
		if r.loop.Full(limits(), true) {
			return r.continueAsNew()
		}
		r.observe()
		r.publish()
		r.loop.Flush()
		r.showDetails()
		if err := r.loop.Wait(r.nextWake(), r.woken); err != nil {
			return err
		}
		r.collect()
	}
}

type run struct {
	ctx         workflow.Context
	loop        *entity.Loop
	core        *fleet.Registry
	signals     signals
	sent        []sentView
	observation *observation
	fault       string
	retryAt     time.Time
	details     string
}

type observation struct {
	future workflow.Future
	cancel workflow.CancelFunc
}

type sentView struct {
	workflowID string
	future     workflow.Future
}

func newRun(ctx workflow.Context, in contract.FleetInput) (*run, error) {
	if in.Config != nil {
		if err := in.Config.WithDefaults().Validate(); err != nil {
			return nil, temporal.NewNonRetryableApplicationError("the registry cannot start with these thresholds", "BadConfig", err)
		}
	}
	r := &run{loop: entity.New(ctx, entity.Options{Name: contract.FleetWorkflowID, Audit: in.Audit, Continued: len(in.State) > 0 && !in.EndUnknown})}
	r.ctx = r.loop.Context()
	if err := r.restore(in); err != nil {
		return nil, err
	}
	return r, r.listen()
}

func (r *run) step(event fleet.Event) []fleet.Decision {
	decisions := r.core.Next(r.loop.Now(), event)
	for _, decision := range decisions {
		switch d := decision.(type) {
		case fleet.Transitioned:
			workflow.GetLogger(r.ctx).Info("Worker changed.", "worker", d.ID, "from", d.From, "to", d.To, "reason", explain.Transition(d.WorkerTransition), "by", d.By)
			r.auditTransition(d)
		case fleet.Observe:
			r.stopObserving()
		case fleet.Accepted, fleet.Refused, fleet.Rejected:
			// Answers to the sender of the event.
		}
	}
	return decisions
}

func (r *run) observe() {
	if r.observation != nil || r.loop.Now().Before(r.retryAt) {
		return
	}
	ctx, cancel := workflow.WithCancel(r.ctx)
	r.observation = &observation{future: callObserveWorkers(ctx, r.core.Observation()), cancel: cancel}
	r.step(fleet.Watching{})
}

// stopObserving makes the next [run.observe] start a new observation. Reports of the old one are ignored.
func (r *run) stopObserving() {
	if r.observation != nil {
		r.observation.cancel()
		r.observation = nil
	}
}

// publish sends the newest view to watchers with an older one, up to the limit of a workflow task.
func (r *run) publish() {
	for {
		now := r.loop.Now()
		id, size := r.core.NextView(now)
		if id == "" || !r.loop.Fits(size) {
			return
		}
		view := r.core.Send(id, now)
		r.sent = append(r.sent, sentView{id, workflow.SignalExternalWorkflow(r.ctx, id, "", contract.SignalFleetChanged, view)})
	}
}

func (r *run) woken() bool {
	return r.signals.waiting() || r.delivered() || (r.observation != nil && r.observation.future.IsReady())
}

func (r *run) delivered() bool {
	return slices.ContainsFunc(r.sent, func(view sentView) bool { return view.future.IsReady() })
}

func (r *run) nextWake() time.Time {
	return instant.Earlier(instant.Earlier(r.core.NextDeadline(), r.core.NextSend(r.loop.Now())), r.retryAt)
}

func (r *run) collect() {
	r.collectSignals()
	r.collectDelivered()
	if r.observation != nil && r.observation.future.IsReady() {
		r.collectObservation()
	}
	if !r.retryAt.IsZero() && !r.loop.Now().Before(r.retryAt) {
		r.retryAt = time.Time{}
	}
	r.step(fleet.Tick{})
}

func (r *run) collectDelivered() {
	waiting := r.sent[:0]
	for _, view := range r.sent {
		if !view.future.IsReady() {
			waiting = append(waiting, view)
			continue
		}
		err := view.future.Get(r.ctx, nil)
		r.step(fleet.Delivered{WorkflowID: view.workflowID, Gone: err != nil})
	}
	r.sent = waiting
}

func (r *run) collectObservation() {
	var result contract.ObserveWorkersResult
	err := r.observation.future.Get(r.ctx, &result)
	r.observation = nil
	if temporal.IsCanceledError(err) {
		r.retryAt = r.loop.Now().Add(cancelPause)
		return
	}
	if err != nil {
		workflow.GetLogger(r.ctx).Error("The workers are not observed; their states stay as they are.", "error", err)
		r.fault, r.retryAt = faultOf(err), r.loop.Now().Add(observerPause)
		return
	}
	r.fault = ""
	r.step(fleet.Observed(result))
}

func faultOf(err error) string {
	if application, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return application.Message()
	}
	return err.Error()
}

func (r *run) continueAsNew() error {
	if err := r.loop.Finish(); err != nil {
		return err
	}
	r.collectSignals()
	r.collectDelivered()
	state, err := r.pack()
	if err != nil {
		return fmt.Errorf("continue as new: %w", err)
	}
	in := contract.FleetInput{State: state, Audit: r.loop.Audit.State(), EndUnknown: r.loop.EndUnknown()}
	if r.core.Configured() {
		in.Config = new(r.core.Thresholds())
	}
	return workflow.NewContinueAsNewError(r.ctx, contract.FleetWorkflow, in)
}
