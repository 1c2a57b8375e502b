// Package fleet decides the life-cycle of workers: which are ONLINE, UNREACHABLE,
// OFFLINE or DELETED, which process holds an id, what an operator set, and which
// watcher is due a view.
//
// It is pure. A [Registry] takes events together with the time at which they
// happened and returns decisions; it has no clock and does no I/O. The cost of
// an event depends neither on the number of workers nor on that of watchers'
// workers: the workers that a threshold waits for are kept in its order
// ([agenda]), and views are compared by sums of their workers' digests.
//
//	register, beat ──► ONLINE ──2 min silent──► UNREACHABLE ──6 min silent──► OFFLINE ──24 h──► DELETED
//	                     ▲                          │                           │
//	                     └──────── beat ────────────┴───────────────────────────┘
//
// Silence is judged by an observer that watches heartbeats change, and only at
// moments at which it looked: a worker's state gets worse by an [Observed]
// event and by nothing else. While no observer looks (the control plane or the
// server is down) no worker gets worse. The registry knows the [contract.WorkerPulse]
// of each incarnation: when its heartbeat last changed, in absolute time, so that
// the cascade continues with the same timeline after any restart.
//
// DRAINING and CORDONED are the operator's and independent of liveness; they
// are shown as the state of a worker that would otherwise be ONLINE, survive
// its restarts, and end with uncordon.
//
// A registry that was created a moment ago is incomplete: workers may be alive
// that have not registered with it yet. Its views carry that until the observer
// has found no stranger, or [contract.RebuildTime] has passed.
//
// The thresholds 2 min, 6 min and 24 h are those of the system that Roundsman
// replaces; see [contract.FleetConfig] for where each is counted from.
package fleet
