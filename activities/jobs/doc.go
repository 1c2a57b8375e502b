// Package jobs runs handlers as Temporal activities: Detect and Execute, which every node worker registers.
//
// The package adds to a handler:
//
//   - Beats. The SDK would cancel every running job once the server is away for one throttle interval. Under
//     liveness `progress` the wrapper is silent while the handler is.
//   - Ends. Cancel, deadline, staleness, drain and a lost lease have their own cause and kind of failure.
//   - Delivery. The wrapper reports the outcome itself until the server has accepted it, see docs/adr/0004.
//   - Bounds. Every report fits into Temporal's limits.
//
// A handler that ignores its canceled context keeps its slot and counts as a zombie. A timeout or staleness is
// reported after a grace even then, or the outcome that the handler has settled. `canceled` and `draining` are
// reported only after the handler has ended, because they promise that nothing runs any more.
package jobs
