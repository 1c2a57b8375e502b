// Package dispatch decides what one job group does next. It is pure: no clock,
// no I/O, no goroutines. Time enters with every event, and what is to be done
// leaves as a list of decisions that somebody else carries out.
//
// A [Group] goes through three phases: detecting, dispatching, ended. Jobs go
// pending → running → completed | failed | canceled | stale | expired |
// not_started; between a failed attempt and the next one a job is pending
// again, with a time before which it does not start.
//
// Invariants, each checked by a property test:
//
//   - Never more than GlobalExecutionConcurrency jobs are in flight, never more
//     than PerWorkerExecutionConcurrency on one worker, never more than the
//     worker's own slots allow.
//   - A job never has two attempts in flight.
//   - Of the jobs that could start, the one of highest priority starts first,
//     in the order of detection within a priority.
//   - Only a worker that is ONLINE, fresh, capable and not suspect gets work.
//   - Every accepted proposal ends in exactly one final state, and the counts
//     add up: Accepted = Completed+Failed+Canceled+Stale+Expired+NotStarted.
//   - Every accepted proposal is in exactly one job: without batches Batched is 0,
//     and Detected = Accepted+Batched+Duplicates+AlreadyActive+Disabled+Surplus+Invalid.
//   - An attempt's end is counted once, however often it is told.
//   - Every job with a dedupe key is reported once when it has ended, every failed
//     attempt once if failures are counted; never two reports within a second.
//   - Restore(Snapshot(g)) behaves as g does.
//   - With a window nothing starts at its closing or later, and nothing that
//     would not end before it; what does not fit holds up nobody.
//   - The group ends once nothing is pending or in flight, and only then.
package dispatch
