// Package dag decides the next steps of a graph of tasks, as pure code.
//
// A [Graph] is immutable: tasks with dense indices in declaration order. A [Run] is one execution of a graph.
// [Run.Next] takes one [Event] and appends the resulting [Decision]s to a buffer of the caller. It uses no clock, no
// I/O, no goroutine and no map order, so equal events always produce equal decisions, and workflows can be replayed
// on top of it. Time enters as an event ([EventDeadline], [EventRelease]).
//
// Any number of runs and goroutines may share a graph. A run belongs to one goroutine.
//
// # Using it
//
//	graph, err := dag.Decode(bytes)                  // or dag.Build(...)
//	run := dag.NewRun(graph, dag.Options{Concurrency: 100})
//	buf, err = run.Next(dag.Event{Kind: dag.EventStart}, buf[:0])
//	for _, d := range buf { … DecisionStart, DecisionCancel, DecisionHold, DecisionFinish … }
//	// later, for every report about a task:
//	buf, err = run.Next(dag.Event{Kind: dag.EventCompleted, Task: i}, buf[:0])
//
// An error from Next is a [*Refusal] or, for added tasks, a [*FaultsError]. The run is then unchanged.
//
// # States
//
// pending: waits for dependencies. ready: waits for a place under the concurrency limit, or for the
// end of a pause. running: DecisionStart was returned and no report has arrived; a gated task gets its
// place later. Terminal states: completed; failed; upstream_failed (never started because of a failed
// dependency); skipped (its condition was false, an operator skipped it, or a one_failed task had no
// failed dependency); canceled.
//
// # Gates
//
// A gated task needs resources shared between runs before its work. It starts without a place under
// the concurrency limit, so its wait does not block ready tasks. After EventAdmit (which EventWithdraw
// reverts) it gets the next place that no ready task of a higher priority needs (DecisionProceed). At
// most Concurrency tasks are at their gates at once, so tasks without a place hold few resources.
// After EventCrowded a task waits for others: it holds nothing, and does not count until EventAdmit.
// EventYield sends any metered task back to its gate in that way.
//
// # Trigger rules
//
// all_success: every dependency completed or was skipped. A failed, upstream_failed or canceled one
// makes the task upstream_failed at once, without waiting for the others. all_done: every dependency
// is terminal. one_failed: starts with the first failed or upstream_failed dependency; a canceled one
// is not a failure. If all are terminal without a failure, the task is skipped, until one of them is
// revived and may still fail. always: like all_done, and also when the run is canceled, past its
// deadline, or stopping after a failure. It is for cleanup.
//
// # Chains
//
// A [Chain] bounds the items in flight of fan-outs over the same items. An item begins with its first
// started task and stays in flight until all its tasks are terminal. Items with a completed task, which a
// retry resumes, begin before others. If nothing runs and every item in
// flight waits for one that has not begun, one more item begins. With OnFailure [Stop] a task of the
// chain that is failed or upstream_failed cancels all tasks of the items that have not begun, whatever
// their rule. Items in flight run to their ends. When no such task is left, after a retry, a rerun or a
// skip, the canceled items are revived.
//
// # Ends
//
// A run ends when every task is terminal. It is canceled if it was canceled. It is failed if its
// deadline passed or a task is failed, upstream_failed or canceled. Otherwise it is completed. With
// [Options.Hold] a run that would fail is held instead (DecisionHold), until an operator retries or
// skips a task or EventRelease ends it. OnFailure [Stop] cancels all tasks that have not started at
// the first failure, except tasks with the rule always or one_failed. Running tasks finish.
//
// # Invariants
//
// Each has a property test against a simple reference (reference_test.go, model_test.go); `make
// property` runs 10,000 checks of each.
//
//	I1  A task starts only when its trigger rule holds, and again only after an operator's retry or rerun.
//	I2  At most Options.Concurrency metered tasks run in a place, and as many gated ones without, except crowded ones. A ready metered task exists only if the limit of its kind is reached or the run is paused.
//	I3  Among ready tasks the highest priority starts first, then the first declaration.
//	I4  After a failure, every all_success task below it is terminal in the same step, before any decision.
//	I5  The states after a set of reports do not depend on the order of reports of independent tasks (Continue, no operator).
//	I6  A late or repeated report about a terminal task has no effect and causes no decision.
//	I7  A refused event has no effect.
//	I8  The run finishes exactly once, exactly when every task is terminal (or is held), with the outcome implied by the states.
//	I9  Restore(Snapshot(run)) is indistinguishable from run, at every step.
//	I10 Counts are the histogram of states, and the transitions of a step lead from the states before it to the states after it.
//	I11 Added tasks never close a cycle, and a started task never waits for them.
//	I12 The work of a whole run is O(V+E); a report costs its task's dependants and its growth, never V.
//	I13 Decode(Encode(g)) equals g, equal graphs have equal bytes, and any other input returns an error without a panic.
//	I14 A resumed run executes exactly the failed, blocked, requested and changed tasks with their descendants, and the one_failed tasks skipped by their rule that depend on any of these. All other tasks are imported with the run that produced them. The plan lists every added task that is neither taken along nor added again.
//	I15 A gated task proceeds exactly once after it was admitted, as soon as a place exists that no ready task of a higher priority takes. It does not proceed if it is canceled before.
//	I17 A deferred task starts again when all tasks that it added have ended as its rule requires, and not before.
//	I16 At most Options.FanOuts tasks of a fan-out are running. A ready task of a fan-out waits only for that limit or as in I2.
//	I18 A redefined task waits for its new dependencies and for tasks added before it. A started task is never redefined, and a repeated request has no effect.
//	I19 At most Chain.InFlight items are in flight, except as above. A ready task of an item that has not begun waits only for that limit or as in I2 and I16.
package dag
