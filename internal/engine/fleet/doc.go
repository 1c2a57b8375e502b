// Package fleet decides the life-cycle of workers, the process that holds an id, the settings of operators, and the
// views due to watchers. It is pure. The cost of an event does not depend on the number of workers or the size of
// watchers' views: workers are sorted by their next threshold ([agenda]), and views are compared by digests.
//
//	register, beat ──► ONLINE ──2 min silent──► UNREACHABLE ──6 min silent──► OFFLINE ──24 h──► DELETED
//	                     ▲                          │                           │
//	                     └──────── beat ────────────┴───────────────────────────┘
//
// An observer judges silence, only at the times at which it looked. A worker's state gets worse by an [Observed]
// event and by no other: not while the control plane or the server is down. [contract.WorkerPulse] is the absolute
// time of the last change of a heartbeat, so the cascade continues on the same timeline after a restart.
//
// An operator sets DRAINING and CORDONED. They are shown in place of ONLINE, survive restarts of the worker, and end
// with uncordon.
//
// A new registry is incomplete: its views carry this mark until the observer finds no stranger, or
// [contract.RebuildTime] has passed.
//
// The thresholds 2 min, 6 min and 24 h are those of the system that Roundsman replaces; see [contract.FleetConfig].
package fleet
