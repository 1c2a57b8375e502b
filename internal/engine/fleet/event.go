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
	// Register requests an id. The answer is [Accepted], [Refused], or [Rejected] for an incarnation that
	// unregistered in the last ten minutes. The repeated Resized and Kept count only if the registry has lost the id.
	Register contract.WorkerRegistration

	// Unregister makes the incarnation OFFLINE at once, or only voids a later registration.
	Unregister contract.UnregisterWorkerInput

	// Observed is a report of the observer.
	Observed contract.ObserveWorkersResult

	// Watching means that an observation was started with the current [Registry.Observation].
	Watching struct{}

	// Operate is an operator's action. The answer is [Rejected] if it cannot be done.
	Operate contract.OperateWorkerInput

	// Resize changes a worker's caps. The answer is [Rejected] without such a worker.
	Resize contract.ResizeWorkerInput

	// Cleanup removes OFFLINE workers: all of them, or those at the deletion threshold.
	Cleanup contract.CleanupWorkersInput

	// Configure replaces the thresholds. A shorter heartbeat interval applies after [adoptTime].
	Configure contract.FleetConfig

	// Boot announces a control plane, with thresholds unless its file has none.
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
		// Incarnation that lost the id and may still be alive. Its reports are ignored.
		Fenced string
	}

	// Refused means that another incarnation holds the id. A stale one may live: its heartbeats may be late.
	Refused struct {
		Holder contract.RegisteredOther
		Stale  bool
	}

	// Transitioned means that the worker changed.
	Transitioned struct {
		ID string
		contract.WorkerTransition
	}

	// Rejected is the reason why the request cannot be done.
	Rejected contract.WorkerRejection

	// Observe means: the running observation lacks a worker or has old thresholds, so start one with [Registry.Observation].
	Observe struct{}
)

func (Accepted) decision()     {}
func (Refused) decision()      {}
func (Transitioned) decision() {}
func (Rejected) decision()     {}
func (Observe) decision()      {}
