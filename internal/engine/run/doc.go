// Package run decides about the items of one run: the worker of an item, the meaning of an attempt's end, the
// retries, and the end of the item. A source (package group or dagrun) decides which items there are, an [Engine]
// decides how each of them runs.
//
// The package is pure: no clock, no I/O, no goroutines, no map order. Time enters with every event. The results are
// [Decision] values for the workflow, and [Report] values for the source.
//
// An item is in one of these states until it settles:
//
//	waiting ── its time has not come, a retry's back-off runs, or its handler has deferred it
//	due ────── it was deferred, and needs a place under its source's limit again
//	queued ─── it needs a worker
//	asking ─── a worker has room; it needs its resources
//	granted ── it has its resources, and needs a place under its source's limit
//	running ── one attempt is in flight
//	grace ──── its worker was lost; the outcome may still be delivered
//	lost ───── on_worker_loss hold: it waits for the worker that lost it
//	late ───── it does not end before the window closes
//
// Invariants, each checked by a property test:
//
//   - At most [Config.Limit] items are in flight, at most PerWorker of one kind on
//     a worker, at most the worker's slots on it.
//   - An item has at most one attempt in flight, and settles exactly once.
//   - Of the items that could start, the one with the smallest Order starts first.
//   - Only a worker that is ONLINE, fresh, capable and not suspect gets work.
//   - An attempt's end counts once, even if reported repeatedly.
//   - Resources are requested before an attempt and released exactly once.
//   - Restore(Snapshot(e)) behaves as e does.
//   - The cost of an event grows at most logarithmically with waiting items, workers
//     and placement classes.
package run
