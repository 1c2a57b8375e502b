// Package dagrun is a source of items: the tasks of one run of a compiled DAG.
//
// [dag.Run] decides which task is ready, blocked or finished; the engine of
// package run decides how a task runs, as for every other item. A [Graph] joins
// them: it renders the tasks that start, offers them to the engine, and reports
// to dag.Run how they settled. It decides itself only what no other source has:
// sleeps, approvals, results that tasks refer to, tasks that tasks return, the
// run's deadline and its pause, and what operators request.
//
// Like the engine it is pure: time enters with every call, and what is to be done
// leaves as a list of [Decision] values.
//
// Invariants, besides those of the engine:
//
//   - Every task that dag.Run started ends in exactly one report to it.
//   - The effects of an attempt from before an operator brought its task back, or before
//     the run began, count nothing.
//   - A task runs with what its templates gave when it began.
//   - A task has no place under the run's concurrency until it has its resources.
//     A task that holds resources and waits for a place waits for tasks that end by
//     themselves: it releases them while all places are taken by sub-DAGs and by
//     tasks that wait for resources.
//   - A result is kept from the end of its task until every task that refers to
//     it has succeeded or was skipped, and no longer.
//   - Restore(Snapshot(g)) behaves as g does, when nothing is in flight.
//   - The cost of an event does not grow with the number of tasks.
package dagrun
