// Package notify decides which receivers are notified of which events, and when a delivery is tried. It is pure.
//
// [State.Watch] turns observed runs, approvals and workers into notices, each once per receiver. It runs in the watcher, so
// events without a rule reach no history.
//
// [Queue] holds the notices until they are delivered, one queue per receiver. A delivery is retried until it
// succeeds, fails for good or is [GiveUpAfter] old. Receivers recognize repeats by the id.
package notify
