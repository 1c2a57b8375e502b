// Package jobs runs handlers as Temporal activities: the two generic activities Detect and
// Execute, which every node worker registers.
//
// The package adds to a handler:
//
//   - Beats. The wrapper heartbeats without the SDK, which would cancel every running
//     job once the server is away for one throttle interval. Under liveness `progress`
//     it is silent while the handler is.
//   - Ends. A job ends by cancel, deadline, staleness, drain or a lost lease, each with
//     its own cause for the handler and its own kind of failure.
//   - Delivery. The wrapper reports the outcome itself and repeats until the server has
//     accepted it, see docs/adr/0004. A job is executed at least once.
//   - Bounds. Every report fits into Temporal's limits.
//
// A handler that ignores its canceled context keeps its slot and counts as a zombie. A timeout
// or staleness is reported after a grace even if the handler still runs, because it is true in
// any case. `canceled` and `draining` are reported only after the handler has ended, because
// they promise that nothing runs any more.
package jobs
