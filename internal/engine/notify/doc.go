// Package notify decides which receivers are notified of which events, and when a delivery is
// tried. It has no clock and does no I/O.
//
// [Watch] turns observed runs, approvals and workers into notices. Each event is reported once
// to each receiver, even if several rules name it. Watch runs in the watcher, so events without
// a rule reach no history.
//
// [Queue] holds the notices until they are delivered. Each receiver has its own queue, so a dead
// receiver delays no other. The first delivery is retried until it succeeds, fails for good or
// is [GiveUpAfter] old. An attempt without a report is repeated: receivers get each notification
// at least once, and recognize repeats by its id.
package notify
