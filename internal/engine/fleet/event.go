package fleet

import (
	"time"

	"github.com/roundsman/roundsman/contract"
)

// Event is something that happened. The set is closed.
type Event interface {
	apply(r *Registry, now time.Time)
}

type (
	// Register requests an id. The answer is [Accepted] or [Refused], or [Rejected]
	// for an incarnation that unregistered in the last ten minutes: the registration
	// is late. Resized and Kept, which the worker repeats, count only where the
	// registry knows nothing of the id: it has lost it.
	Register contract.WorkerRegistration

	// Unregister makes the incarnation OFFLINE at once. From one that does not hold
	// the id it only voids a registration that is still to come.
	Unregister contract.UnregisterWorkerInput

	// Observed is a report of the observer.
	Observed contract.ObserveWorkersResult

	// Watching says that an observation was started with the current
	// [Registry.Observation].
	Watching struct{}

	// Operate is an operator's action. Repeating it changes nothing. The answer is
	// [Rejected] if it cannot be done.
	Operate contract.OperateWorkerInput

	// Resize changes a worker's caps. Repeating it changes nothing. The answer is
	// [Rejected] if there is no such worker.
	Resize contract.ResizeWorkerInput

	// Cleanup removes OFFLINE workers: all of them, or those that have reached
	// the deletion threshold.
	Cleanup contract.CleanupWorkersInput

	// Configure replaces the thresholds. They apply from the next observation on. A
	// shorter heartbeat interval applies after [adoptTime]: the workers learn of it
	// first.
	Configure contract.FleetConfig

	// Boot announces a control plane. Its thresholds replace the applied ones, unless
	// its file has none.
	Boot contract.ConfigureFleetInput

	// Watch subscribes a workflow to views, or renews its subscription.
	Watch contract.WatchFleetInput

	// Unwatch ends a subscription.
	Unwatch contract.WatchFleetInput

	// Delivered says that the view on its way to a watcher has arrived, or that the
	// watcher is gone.
	Delivered struct {
		WorkflowID string
		Gone       bool
	}

	// Tick says that [Registry.NextDeadline] was reached.
	Tick struct{}
)

// Decision is what follows from an event. The set is closed.
type Decision interface{ decision() }

type (
	// Accepted says that the incarnation holds the id.
	Accepted struct {
		contract.Incarnation
		// Fenced is the incarnation that lost the id to it while it may still be
		// alive; its reports are ignored from now on.
		Fenced string
	}

	// Refused says that another live incarnation holds the id.
	Refused struct{ Holder contract.RegisteredOther }

	// Transitioned says that the worker changed.
	Transitioned struct {
		ID string
		contract.WorkerTransition
	}

	// Rejected says why it cannot be done.
	Rejected contract.WorkerRejection

	// Observe says that the running observation does not know of a worker that
	// should have been seen by now, or has old thresholds: start a new one with the
	// current [Registry.Observation].
	Observe struct{}
)

func (Accepted) decision()     {}
func (Refused) decision()      {}
func (Transitioned) decision() {}
func (Rejected) decision()     {}
func (Observe) decision()      {}
