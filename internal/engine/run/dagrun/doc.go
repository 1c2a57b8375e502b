// Package dagrun is a source of items: the tasks of one run of a compiled DAG.
//
// [dag.Run] decides which task is ready, blocked or finished; the engine of package run decides how a task runs. A
// [Graph] joins them. It decides itself about sleeps, approvals, kept results, returned tasks, the deadline and the
// pause of the run, and the requests of operators. It is pure.
//
//   - A task runs with the values that its templates gave when it began.
//   - A task has no place under the run's concurrency until it has its resources. A task with
//     resources waits for a place only behind tasks that end by themselves. If sub-DAGs and tasks that wait
//     for resources have all places, it releases its resources.
//   - A result is kept from the end of its task until every task that refers to it has succeeded or
//     was skipped, and no longer.
//   - Restore(Snapshot(g)) behaves as g does, when nothing is in flight.
//   - The cost of an event does not grow with the number of tasks.
package dagrun
