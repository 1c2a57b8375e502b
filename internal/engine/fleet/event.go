package fleet

import (
	"time"

	"github.com/roundsman/roundsman/contract"
)

// Event is an input of the registry. The set is closed.
type Event interface {
	apply(r *Registry, now time.Time)
}

type (
	// Register requests an id. The answer is [Accepted] or [Refused], or [Rejected] for an
	// incarnation that unregistered in the last ten minutes: the registration is late. The
	// worker repeats Resized and Kept, which count only if the registry has lost the id.
	Register contract.WorkerRegistration

	// Unregister makes the incarnation OFFLINE at once. From an incarnation without the id it
	// only voids a later registration.
	Unregister contract.UnregisterWorkerInput

	// Observed is a report of the observer.
	Observed contract.ObserveWorkersResult

	// Watching means that an observation was started with the current [Registry.Observation].
	Watching struct{}

	// Operate is an operator's action. A repeat changes nothing. The answer is [Rejected] if it
	// cannot be done.
	Operate contract.OperateWorkerInput

	// Resize changes a worker's caps. A repeat changes nothing. The answer is [Rejected] if
	// there is no such worker.
	Resize contract.ResizeWorkerInput

	// Cleanup removes OFFLINE workers: all of them, or those at the deletion threshold.
	Cleanup contract.CleanupWorkersInput

	// Configure replaces the thresholds. They apply from the next observation on. A shorter
	// heartbeat interval applies after [adoptTime]: the workers receive it first.
	Configure contract.FleetConfig

	// Boot announces a control plane. Its thresholds replace the applied ones, unless its file
	// has none.
	Boot contract.ConfigureFleetInput

	// Watch subscribes a workflow to views, or renews its subscription.
	Watch contract.WatchFleetInput

	// Unwatch ends a subscription.
	Unwatch contract.WatchFleetInput

	// Delivered means that a watcher's view has arrived, or that the watcher is gone.
	Delivered struct {
		WorkflowID string
		Gone       bool
	}

	// Tick means that [Registry.NextDeadline] was reached.
	Tick struct{}
)

// Decision is a result of an event. The set is closed.
type Decision interface{ decision() }

type (
	// Accepted means that the incarnation holds the id.
	Accepted struct {
		contract.Incarnation
		// Fenced is the incarnation that lost the id and may still be alive. Its reports are
		// ignored from now on.
		Fenced string
	}

	// Refused means that another live incarnation holds the id.
	Refused struct{ Holder contract.RegisteredOther }

	// Transitioned means that the worker changed.
	Transitioned struct {
		ID string
		contract.WorkerTransition
	}

	// Rejected is the reason why the request cannot be done.
	Rejected contract.WorkerRejection

	// Observe means that the running observation lacks an overdue worker, or has old thresholds:
	// start a new one with the current [Registry.Observation].
	Observe struct{}
)

func (Accepted) decision()     {}
func (Refused) decision()      {}
func (Transitioned) decision() {}
func (Rejected) decision()     {}
func (Observe) decision()      {}
