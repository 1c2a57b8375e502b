// Package fleet decides the life-cycle of workers: who is ONLINE, UNREACHABLE,
// OFFLINE or DELETED, who holds an id, and what an operator did to whom.
//
// It is pure. A [Registry] takes events together with the time at which they
// happened and answers decisions; it has no clock and does no I/O.
//
//	register, beat ──► ONLINE ──2 min silent──► UNREACHABLE ──6 min silent──► OFFLINE ──24 h──► DELETED
//	                     ▲                          │                           │
//	                     └──────── beat ────────────┴───────────────────────────┘
//
// Silence is judged by an observer that watches heartbeats change, and only at
// moments at which it looked: a worker's state gets worse by an [Observed]
// event and by nothing else. While nobody looks (the control plane or the
// server is down) nobody gets worse. What the observer knows of a worker is its
// [Pulse]: when its heartbeat last changed, in absolute time, so that the
// cascade goes on with the same timeline after any restart.
//
// DRAINING and CORDONED are the operator's and independent of liveness; they
// are shown as the state of a worker that would otherwise be ONLINE, survive
// its restarts, and end with uncordon.
//
// The thresholds 2 min, 6 min and 24 h are those of the system that Roundsman
// replaces; see [Config] for where each is counted from.
package fleet
