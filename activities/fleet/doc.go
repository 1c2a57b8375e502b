// Package fleet watches the heartbeats that worker processes send to the
// Temporal server, for the registry workflow.
//
// [Observer.ObserveWorkers] is one long activity of the control plane. It polls
// the server's list of workers every three tenths of a heartbeat interval (1.5 s)
// and returns only when something changed: a worker became fresh or stale,
// appeared, is shutting down, or a silent one reached a threshold of the
// registry. A healthy idle fleet therefore costs no history, restarts of the
// control plane included: a retried activity continues from its heartbeat.
//
// A worker is judged by changes of its heartbeat's time, never by the time
// itself: that is the worker's clock, which may be minutes off. All dates are
// in the observer's time: the server's clock at the start of the attempt,
// plus the time elapsed by the monotonic clock of this process. So
// several control planes with different clocks agree.
//
// A missing entry is no evidence. The server keeps its list in memory: it is empty after a
// restart until each worker beats again, and drops entries after five minutes. A gap, in which
// the observer could not look (no control plane, no server), does not count against a worker
// that beat before it. For a worker that was silent before the gap the time continues. Nothing
// is reported until the observer has looked for long enough to see a living worker.
//
// The list lacks the heartbeat's time, and reading one worker
// costs one request. So the list is filtered by that time: the query selects the
// workers that beat within the last moments, in the clock that most workers share. Only
// workers outside of that window are read one by one: silent workers and workers
// with another clock.
package fleet
