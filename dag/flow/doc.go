// Package flow decides, purely, how one run of a compiled DAG goes on in the
// world: which worker gets a task, what becomes of an attempt that failed or
// whose worker was lost, when a sleep, an approval or a deadline is over, whose
// result is still needed, and when the workflow should continue as new.
//
// What is ready, blocked or finished is decided by [dag.Run] alone; which worker
// fits by package placement. A [Flow] joins them with time, which enters with
// every call: there is no clock here, no I/O and no goroutine, and nothing
// depends on the order of a map. Whoever runs a Flow carries out its
// [Decision]s and reports how they end.
//
// Invariants:
//
//   - A task has at most one attempt in flight.
//   - Every task that dag.Run started ends in exactly one report to it.
//   - An attempt's end is counted once, however often it is told.
//   - What an attempt did from before an operator brought its task back, or before
//     the run began, counts nothing.
//   - A task goes on with what its templates gave when it began.
//   - A task's resources are asked for before its first attempt and given back
//     once, when it ends; no task without resources asks for anything.
//   - A task has no place under the run's concurrency until it has its resources.
//     What holds resources and waits for a place waits for tasks that end by
//     themselves: it gives them back while sub-DAGs have all places.
//   - A worker that is lost, full or leaving costs no retry; losing it more often
//     than worker_loss_limit fails the task.
//   - A result is kept from the end of its task until every task that refers to
//     it has succeeded or was skipped, and no longer.
//   - Restore(Snapshot(f)) behaves as f does, when nothing is in flight.
//   - The work per report does not depend on the number of tasks.
package flow
