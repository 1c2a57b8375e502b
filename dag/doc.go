// Package dag decides, purely, what a graph of tasks does next.
//
// A [Graph] is immutable: tasks with dense indices in declaration order, ids,
// adjacency both ways, a priority, a trigger [Rule] and opaque payloads. A [Run]
// is one execution of a graph: [Run.Next] takes one [Event] and appends the
// [Decision]s it causes to a buffer the caller owns. There is no clock, no I/O,
// no goroutine and no map whose order could leak into a result, so the same
// events always produce the same decisions; that is what lets a workflow be
// replayed on top of it. Deadlines and back-off are the caller's: time enters as
// an event ([EventDeadline], [EventRelease]).
//
// A graph may be shared by any number of runs and goroutines. A run belongs to
// one goroutine.
//
// # Using it
//
//	graph, err := dag.Decode(bytes)                  // or dag.Build(...)
//	run := dag.NewRun(graph, dag.Options{Concurrency: 100})
//	buf, err = run.Next(dag.Event{Kind: dag.EventStart}, buf[:0])
//	for _, d := range buf { … DecisionStart, DecisionCancel, DecisionHold, DecisionFinish … }
//	// later, for every report about a task:
//	buf, err = run.Next(dag.Event{Kind: dag.EventSucceeded, Task: i}, buf[:0])
//
// An error from Next is always a [*Refusal] (or, for added tasks, a
// [*FaultsError]); the run is then unchanged.
//
// # States
//
// pending: waits for dependencies. ready: may start, waits for a place under the
// concurrency limit (or for the end of a pause). running: DecisionStart was
// given, no report yet; a gated task gets its place later. Terminal: succeeded, failed, upstream_failed (it never
// ran and will not, because something it needs went wrong), skipped (its
// condition was false, an operator skipped it, or a one_failed task had nothing
// to react to), canceled.
//
// # Gates
//
// A gated task needs something from outside before it can do its work (resources
// that runs share). It is started without a place under the concurrency limit, so
// that what waits outside does not keep ready tasks from running; after EventAdmit
// (which EventWithdraw takes back) it gets the next place that no ready task of a higher priority wants
// (DecisionProceed). At most Concurrency tasks are at their gates at once, so that
// little is held by tasks that have no place yet.
//
// # Trigger rules
//
// all_success: every dependency succeeded or was skipped; one that failed, is
// upstream_failed or canceled makes it upstream_failed at once, without waiting
// for the others. all_done: every dependency is terminal, however it ended.
// one_failed: as soon as one dependency failed or is upstream_failed (a canceled
// one is not a failure); skipped when all are terminal and none failed, until one
// of them is brought back and may fail after all. always:
// like all_done, and it also runs when the run is canceled, past its deadline, or
// stopping after a failure: it is the place for cleaning up.
//
// # Ends
//
// A run ends when every task is terminal: canceled if it was canceled, else
// failed if its deadline passed or a task is failed, upstream_failed or
// canceled, else completed. With [Options.Hold] a run that would end failed
// parks instead (DecisionHold) until an operator retries or skips something, or
// EventRelease lets it end. OnFailure [Stop] cancels, at the first failure,
// everything that has not started, except tasks with the rule always or
// one_failed; what runs is left to finish.
//
// # Invariants
//
// Each has a property test against a deliberately simple reference
// (reference_test.go, model_test.go); `make property` runs 10,000 checks of each.
//
//	I1  A task starts only when its trigger rule holds, and never twice without an operator's retry or rerun between.
//	I2  At most Options.Concurrency metered tasks run in a place, and as many gated ones without; a ready metered task exists only if the limit of its kind is reached or the run is paused.
//	I3  Of the tasks that are ready, the one with the highest priority starts first, then the one declared first.
//	I4  After a failure, in the same step and before any later decision, every all_success task that directly or indirectly depends on it is terminal.
//	I5  The states after a set of reports do not depend on the order in which reports of independent tasks arrive (Continue, no operator).
//	I6  A late or repeated report about a terminal task changes nothing and decides nothing.
//	I7  A refused event changes nothing.
//	I8  The run finishes exactly once, exactly when every task is terminal (or is held), with the outcome the states imply.
//	I9  Restore(Snapshot(run)) is indistinguishable from run, at every step.
//	I10 Counts are the histogram of states, and the transitions of a step lead from the states before it to the states after it.
//	I11 Added tasks never close a cycle, and never make a task that has started wait.
//	I12 The work of a whole run is O(V+E); a report costs its task's dependants and what it adds, never V.
//	I13 Decode(Encode(g)) equals g, equal graphs have equal bytes, and every other input is an error, never a panic.
//	I14 A resumed run executes exactly the failed, the blocked, the requested and the changed tasks with their descendants, and the one_failed tasks that were skipped by their rule and depend on any of these; everything else is imported with the run that produced it. A task that was added and neither comes along nor is added again is named in the plan.
//	I15 A gated task proceeds exactly once, after it was admitted, as soon as there is a place that no ready task of a higher priority takes; it does not if it is canceled before.
//	I17 A deferred task starts again when all that it added has ended as its rule wants, and not before.
//	I16 At most Options.FanOuts tasks of a fan-out are running, and one of it that is ready waits only for that, or as I2 says.
//	I18 A redefined task waits for what its new definition needs and for what was put before it; one that has started is never redefined, and a repeated request changes nothing.
package dag
