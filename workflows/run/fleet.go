package run

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	engine "github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/fleetview"
)

const (
	// renewFirst is the first pause before a repeat of the subscription: a rebuilt registry has no subscriptions.
	renewFirst = 5 * time.Minute
	// renewEmpty is the first pause if the view has no ONLINE worker, or is incomplete after a rebuild of the registry.
	renewEmpty = 15 * time.Second
	// renewMost is the longest pause: a run may wait for months.
	renewMost = 24 * time.Hour
)

type subscription struct {
	sending workflow.Future
	renew   backoff
	views   fleetview.Views
	// deserted: see [engine.Engine.Deserted].
	deserted bool
}

func (s *subscription) plan(now time.Time) {
	s.renew.first, s.renew.most = renewFirst, renewMost
	if s.deserted {
		s.renew.first = renewEmpty
	}
	s.renew.restart(now)
}

type probe struct {
	in     contract.ProbeWorkerInput
	future workflow.Future
}

func (r *Runner) probe(id, instance string) {
	in := contract.ProbeWorkerInput{ID: id, Instance: instance}
	r.probes = append(r.probes, probe{in, callProbeWorker(r.ctx, in)})
}

// Watch subscribes to changes of the fleet.
func (r *Runner) Watch() {
	r.subscribe()
	r.fleet.plan(workflow.Now(r.ctx))
}

// Rewatch schedules a repeat of an earlier run's subscription.
func (r *Runner) Rewatch() { r.fleet.plan(workflow.Now(r.ctx)) }

// Unwatch stops the repeats of the subscription. Later views are ignored.
func (r *Runner) Unwatch() { r.fleet.renew.stop() }

func (r *Runner) subscribe() {
	in := r.options.Watch
	in.WorkflowID, in.Seq = workflow.GetInfo(r.ctx).WorkflowExecution.ID, r.fleet.views.Seen
	r.fleet.sending = callEnsureFleet(r.ctx, contract.EnsureFleetInput{Watch: &in})
}

// Seen returns the number of the newest view of the fleet.
func (r *Runner) Seen() int64 { return r.fleet.views.Seen }

// SetSeen sets the number of the newest view that the run has.
func (r *Runner) SetSeen(seq int64) { r.fleet.views.Seen = seq }

// Fleet returns the received views in order. Call [Runner.Viewed] after applying them.
func (r *Runner) Fleet() []engine.WorkersChanged {
	var list []engine.WorkersChanged
	for {
		var view contract.FleetView
		if !r.inbox.fleet.ReceiveAsync(&view) {
			return list
		}
		changed, ok, lost := r.fleet.views.Take(view)
		if ok {
			list = append(list, changed)
		}
		if lost && !r.fleet.renew.at.IsZero() {
			r.subscribe()
		}
	}
}

// Viewed adapts the renewal to the newest view; deserted: see [engine.Engine.Deserted].
func (r *Runner) Viewed(deserted bool) {
	r.fleet.deserted = deserted
	if !r.fleet.renew.at.IsZero() {
		r.fleet.plan(workflow.Now(r.ctx))
	}
}

// Probed returns the answers to probes.
func (r *Runner) Probed() []engine.WorkerProbed {
	var list []engine.WorkerProbed
	pending := r.probes[:0]
	for _, p := range r.probes {
		if !p.future.IsReady() {
			pending = append(pending, p)
			continue
		}
		var result contract.ProbeWorkerResult
		if err := p.future.Get(r.ctx, &result); err != nil {
			workflow.GetLogger(r.ctx).Warn("A worker could not be probed; it stays suspect until the fleet sees it.", "worker", p.in.ID, "error", err)
			continue
		}
		list = append(list, engine.WorkerProbed{ID: p.in.ID, Instance: p.in.Instance, Alive: result.Alive, BeatAt: result.BeatAt, Used: result.Used})
	}
	r.probes = pending
	return list
}

// Rooms returns the reports of workers that have room again. Call it after Endings, which has the refusals.
func (r *Runner) Rooms() []engine.WorkerHasRoom {
	var list []engine.WorkerHasRoom
	for {
		var in contract.WorkerRoomInput
		if !r.inbox.room.ReceiveAsync(&in) {
			return list
		}
		list = append(list, engine.WorkerHasRoom{
			ID: in.Worker, Instance: in.Instance, Handler: in.Handler,
			Load: engine.LoadReport{At: in.At, Others: in.Others, OfHandler: in.OthersOfHandler},
		})
	}
}

func (r *Runner) collectFleet() {
	f := &r.fleet
	if f.sending != nil && f.sending.IsReady() {
		if err := f.sending.Get(r.ctx, nil); err != nil {
			workflow.GetLogger(r.ctx).Warn("The run is not notified of changes of the fleet.", "error", err)
		}
		f.sending = nil
	}
	if now := workflow.Now(r.ctx); f.sending == nil && f.renew.due(now) {
		r.subscribe()
		f.renew.next(now)
	}
}
