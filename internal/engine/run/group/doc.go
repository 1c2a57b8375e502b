// Package group decides what one job group does: when it begins, what it detects,
// which proposals become jobs, and how it ends. How a job runs is decided by the
// engine of package run, to which the group offers its jobs.
//
// A [Group] exists from the first event on and goes through these phases:
//
//	waiting(start) ─ waiting(after) ─ waiting(window) ─ preparing ─ waiting(worker) ─ waiting(lane)
//	  ─ detecting ─ claiming ─ running ─ ended
//
// A submitted group has no detection; when its window closes it gives everything
// back and waits for the next one, and then takes the same way again.
//
// Invariants, each checked by a property test:
//
//   - A group takes its lane's turn only while a worker that can serve it is usable.
//   - Every accepted proposal ends in exactly one state, and the counts add up:
//     Accepted = Completed+Failed+Canceled+Stale+Expired+NotStarted.
//   - Every accepted proposal is in exactly one job: without batches Batched is 0, and
//     Detected = Accepted+Batched+Duplicates+AlreadyActive+Disabled+Surplus+Invalid.
//   - Every job with a dedupe key is reported once when it has ended, every failed
//     attempt once if failures are counted; never two reports within a second.
//   - With a window nothing starts at its closing or later, and nothing that would
//     not end before it; what does not fit delays nothing else.
//   - The group ends once no job is open, and only then.
//   - Everything that was accepted fits into one continue-as-new.
//   - Restore(Snapshot(g)) behaves as g does.
package group
