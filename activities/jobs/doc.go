// Package jobs runs handlers as Temporal activities: the two generic activities
// Detect and Execute that every node worker registers, whatever handlers it has.
//
// The package adds to a handler:
//
//   - Beats. The wrapper heartbeats by itself, not through the SDK, which would
//     cancel every running job as soon as the server is away for one throttle
//     interval. Under liveness `progress` it falls silent when the handler does.
//   - Ends. A job ends by cancel, deadline, staleness, drain or a lost lease,
//     each with its own cause for the handler and its own kind of failure.
//   - Delivery. The wrapper reports the outcome itself and repeats until the
//     server has taken it, docs/adr/0004. A job is executed at least once.
//   - Bounds. Whatever a handler returns, what is reported fits into Temporal's
//     limits.
//
// A handler that ignores its canceled context keeps its slot for as long as it
// really runs and is counted as a zombie. A timeout or staleness is answered
// after a grace although the handler still runs, because it is true whatever
// the handler does; `canceled` and `draining` are answered only when the
// handler has ended, because they promise that nothing runs any more.
package jobs
