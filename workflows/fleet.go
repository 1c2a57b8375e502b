package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/fleet"
	"github.com/roundsman/roundsman/workflows/entity"
	"github.com/roundsman/roundsman/workflows/recorder"
)

const (
	// fleetEvents is the length of the history at which the registry continues
	// as new, if the server has not suggested it before.
	fleetEvents = 10_000
	// observerPause is how long the registry waits after the observer gave up:
	// somebody has to change the server's configuration first.
	observerPause = 5 * time.Minute
)

// Fleet is the one worker registry of a namespace. It lives for ever, as a
// chain of runs.
//
// Whoever needs it creates it: a worker that registers, a group that watches,
// the control plane at boot. One that was terminated or canceled is therefore
// rebuilt within a minute: every worker asks once a minute whether it is known
// and registers again if not. What is lost with it are the transitions and the
// operator's cordons.
//
// It fails only on a bug.
func Fleet(ctx workflow.Context, in contract.FleetInput) error {
	f, err := newFleetRun(ctx, in)
	if err != nil {
		return err
	}
	for {
		if f.isFull() {
			return f.continueAsNew()
		}
		f.trail.Flush()
		f.observe()
		f.publish()
		workflow.SetCurrentDetails(ctx, f.details())
		if err := f.wait(); err != nil {
			return err
		}
		f.collect()
	}
}

// fleetRun is the registry between its core and Temporal.
type fleetRun struct {
	ctx  workflow.Context
	core *fleet.Registry
	// configured is false until somebody has said what the thresholds are.
	configured bool
	// registrations are what workers said about themselves, by id. Descriptors
	// of equal content are shared.
	registrations map[string]contract.WorkerRegistration
	descriptors   descriptorPool
	watchers      map[string]*watcher
	tasks         entity.Tasks
	trail         *recorder.Recorder
	messages      fleetMessages
	observation   *observation
	// fault is why nobody observes; retryAt is when to try again.
	fault   string
	retryAt time.Time
	// touched: an update has changed something.
	touched bool
}

// observation is one run of the observer.
type observation struct {
	future workflow.Future
	cancel workflow.CancelFunc
}

func newFleetRun(ctx workflow.Context, in contract.FleetInput) (*fleetRun, error) {
	f := &fleetRun{
		ctx: ctx, configured: in.Config != nil,
		registrations: map[string]contract.WorkerRegistration{}, watchers: map[string]*watcher{}, trail: entityTrail(ctx),
	}
	f.trail.Restore(in.Audit)
	config := contract.FleetConfig{}
	if in.Config != nil {
		config = *in.Config
	}
	if err := coreConfig(config).Validate(); err != nil {
		return nil, temporal.NewNonRetryableApplicationError("the registry cannot start with these thresholds", "BadConfig", err)
	}
	if err := f.restore(coreConfig(config), in.State); err != nil {
		return nil, err
	}
	return f, f.listen()
}

// step tells the core one event.
func (f *fleetRun) step(event fleet.Event) []fleet.Decision {
	decisions := f.core.Next(workflow.Now(f.ctx), event)
	for _, decision := range decisions {
		switch d := decision.(type) {
		case fleet.Transitioned:
			workflow.GetLogger(f.ctx).Info("Worker changed.", "worker", d.ID, "from", d.From, "to", d.To, "reason", d.Reason, "by", d.By)
			f.auditTransition(d)
		case fleet.Observe:
			f.stopObserving()
		case fleet.Accepted, fleet.Refused, fleet.Rejected:
			// Answers for whoever caused the event.
		}
	}
	return decisions
}

// observe makes sure that the observer runs.
func (f *fleetRun) observe() {
	if f.observation != nil || workflow.Now(f.ctx).Before(f.retryAt) {
		return
	}
	in := observeInput(f.core.Watch())
	if f.configured {
		config := wireConfig(f.core.Config())
		in.Config = &config
	}
	ctx, cancel := workflow.WithCancel(f.ctx)
	f.observation = &observation{future: callObserveWorkers(ctx, in), cancel: cancel}
	f.step(fleet.Watching{})
}

// stopObserving lets the next [fleetRun.observe] start anew. The old one ends
// when its heartbeat is answered; what it may still report is ignored.
func (f *fleetRun) stopObserving() {
	if f.observation != nil {
		f.observation.cancel()
		f.observation = nil
	}
}

// wait blocks until there is something to do.
func (f *fleetRun) wait() error {
	next := f.nextWake()
	if next.IsZero() {
		return workflow.Await(f.ctx, f.woken)
	}
	_, err := workflow.AwaitWithTimeout(f.ctx, max(next.Sub(workflow.Now(f.ctx)), time.Millisecond), f.woken)
	return err
}

func (f *fleetRun) woken() bool {
	return f.touched || f.trail.Ready() || f.messages.waiting() || f.watchersAnswered() || (f.observation != nil && f.observation.future.IsReady())
}

func (f *fleetRun) nextWake() time.Time {
	next := f.core.NextDeadline()
	for _, candidate := range []time.Time{f.nextSend(), f.retryAt, f.trail.Wake()} {
		if !candidate.IsZero() && (next.IsZero() || candidate.Before(next)) {
			next = candidate
		}
	}
	return next
}

// collect takes in whatever has happened.
func (f *fleetRun) collect() {
	f.touched = false
	f.trail.Collect()
	f.collectSignals()
	f.collectAnswers()
	if f.observation != nil && f.observation.future.IsReady() {
		f.collectObservation()
	}
	if !f.retryAt.IsZero() && !workflow.Now(f.ctx).Before(f.retryAt) {
		f.retryAt = time.Time{}
	}
	f.step(fleet.Tick{})
	f.forgetRegistrations()
}

func (f *fleetRun) collectObservation() {
	var result contract.ObserveWorkersResult
	err := f.observation.future.Get(f.ctx, &result)
	f.observation = nil
	if err != nil {
		workflow.GetLogger(f.ctx).Error("Nobody observes the workers; their states stay as they are.", "error", err)
		f.fault, f.retryAt = faultOf(err), workflow.Now(f.ctx).Add(observerPause)
		return
	}
	f.fault = ""
	if result.Config != nil && !f.configured {
		f.configured = true
		f.step(fleet.Configure{Config: coreConfig(*result.Config)})
		return
	}
	f.step(observed(result))
}

// isFull reports whether the run should make room for the next one.
func (f *fleetRun) isFull() bool {
	info := workflow.GetInfo(f.ctx)
	return info.GetContinueAsNewSuggested() || info.GetCurrentHistoryLength() >= fleetEvents
}

// continueAsNew hands everything to the next run. Handlers never wait, so none
// is unfinished; signals that came with this very task are taken first.
func (f *fleetRun) continueAsNew() error {
	if err := workflow.Await(f.ctx, func() bool { return workflow.AllHandlersFinished(f.ctx) }); err != nil {
		return err
	}
	f.collectSignals()
	state, err := f.pack()
	if err != nil {
		return fmt.Errorf("continue as new: %w", err)
	}
	in := contract.FleetInput{State: state, Audit: f.trail.State()}
	if f.configured {
		config := wireConfig(f.core.Config())
		in.Config = &config
	}
	return workflow.NewContinueAsNewError(f.ctx, contract.FleetWorkflow, in)
}
