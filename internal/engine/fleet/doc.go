// Package fleet decides the life-cycle of workers: the states ONLINE, UNREACHABLE, OFFLINE and
// DELETED, the process that holds an id, the settings of operators, and the views due to
// watchers.
//
// It is pure. A [Registry] takes events with their times and returns decisions; it has no clock
// and does no I/O. The cost of an event does not depend on the number of workers or on the size
// of watchers' views: workers are sorted by the threshold that they wait for ([agenda]), and
// views are compared by sums of their workers' digests.
//
//	register, beat ──► ONLINE ──2 min silent──► UNREACHABLE ──6 min silent──► OFFLINE ──24 h──► DELETED
//	                     ▲                          │                           │
//	                     └──────── beat ────────────┴───────────────────────────┘
//
// An observer watches heartbeats and judges silence, only at the times at which it looked. A
// worker's state gets worse by an [Observed] event and by no other. While no observer looks (the
// control plane or the server is down) no worker gets worse. The registry has the
// [contract.WorkerPulse] of each incarnation: the absolute time of the last change of its
// heartbeat. So the cascade continues on the same timeline after a restart.
//
// An operator sets DRAINING and CORDONED, which do not depend on liveness. They are shown in
// place of ONLINE, survive restarts of the worker, and end with uncordon.
//
// A new registry is incomplete: living workers may not have registered yet. Its views carry this
// mark until the observer finds no stranger, or [contract.RebuildTime] has passed.
//
// The thresholds 2 min, 6 min and 24 h are those of the system that Roundsman replaces;
// [contract.FleetConfig] describes the start of each.
package fleet
