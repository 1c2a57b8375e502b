// Package group decides for one job group: its begin, its detection, the proposals that become jobs, and its end. The
// engine of package run decides how a job runs; the group offers its jobs to it.
//
// A [Group] exists from the first event on and goes through these phases:
//
//	waiting(start) ─ waiting(after) ─ waiting(window) ─ preparing ─ waiting(worker) ─ waiting(lane)
//	  ─ detecting ─ claiming ─ running ─ ended
//
// A submitted group has no detection. When its window closes it releases everything, waits for the next one, and takes
// the same way again.
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
//   - With a window no job starts at its closing or later, and none that would end after it. A job that
//     does not fit delays no other.
//   - The group ends once no job is open, and only then.
//   - Everything accepted fits into one continue-as-new.
//   - Restore(Snapshot(g)) behaves as g does.
package group
