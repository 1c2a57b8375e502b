package run

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	engine "github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/fleetview"
)

const (
	// renewFirst is how soon a run repeats its subscription: a registry that was
	// terminated comes back without any. Repeating it changes nothing otherwise.
	renewFirst = 5 * time.Minute
	// renewEmpty is the same for a run whose view has no worker that is ONLINE, or is
	// incomplete because the registry was just rebuilt.
	renewEmpty = 15 * time.Second
	// renewMost is how rare it becomes while nothing happens: a run may wait for
	// months.
	renewMost = 24 * time.Hour
)

// subscription is the run's place among the watchers of the fleet.
type subscription struct {
	sending workflow.Future
	renew   backoff
	views   fleetview.Views
	// deserted: see [engine.Engine.Deserted].
	deserted bool
}

// plan sets when the subscription is repeated for the first time.
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

// reportTrouble tells the registry whether programs start on a worker. A registry that is
// away misses it; the engine reports a trouble again that it does not see.
func (r *Runner) reportTrouble(d engine.Decision) {
	workflow.SignalExternalWorkflow(r.ctx, contract.FleetWorkflowID, "", contract.SignalWorkerTrouble, contract.WorkerTroubleInput{
		Incarnation: contract.Incarnation{ID: d.Worker, Instance: d.Instance}, Code: d.Trouble, Detail: d.Reason,
		Run: workflow.GetInfo(r.ctx).WorkflowExecution.ID,
	})
}

// Watch subscribes to changes of the fleet.
func (r *Runner) Watch() {
	r.subscribe()
	r.fleet.plan(workflow.Now(r.ctx))
}

// Rewatch plans to repeat a subscription that an earlier run has made.
func (r *Runner) Rewatch() { r.fleet.plan(workflow.Now(r.ctx)) }

// Unwatch repeats the subscription no more. The registry drops it once the workflow
// has ended; until then its views are ignored for nothing.
func (r *Runner) Unwatch() { r.fleet.renew.stop() }

func (r *Runner) subscribe() {
	in := r.options.Watch
	in.WorkflowID, in.Seq = workflow.GetInfo(r.ctx).WorkflowExecution.ID, r.fleet.views.Seen
	r.fleet.sending = callEnsureFleet(r.ctx, contract.EnsureFleetInput{Watch: &in})
}

// Seen is the newest view of the fleet, by its number.
func (r *Runner) Seen() int64 { return r.fleet.views.Seen }

// SetSeen says which view the run has already.
func (r *Runner) SetSeen(seq int64) { r.fleet.views.Seen = seq }

// Fleet returns the views that have come, in order. It requests a whole one if some
// are missing. Once the core has them, [Runner.Viewed] follows.
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
		}
		list = append(list, engine.WorkerProbed{ID: p.in.ID, Instance: p.in.Instance, Alive: result.Alive, BeatAt: result.BeatAt, Used: result.Used})
	}
	r.probes = pending
	return list
}

// Rooms returns the reports of workers that returned items and have room again. It
// comes after Ended, which tells that they returned them.
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

// collectFleet takes in what became of the subscription, and repeats it in time.
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
