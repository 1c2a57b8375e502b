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
// A worker is judged by change of its heartbeat's time, never by the time
// itself: that is the worker's clock, which may be minutes off. Everything is
// dated in the observer's time: the server's clock when the attempt started,
// plus what has elapsed since by the monotonic clock of this process. So
// several control planes with different clocks agree.
//
// "Not listed" is no news. The server keeps its list in memory: it is empty
// after a restart until each worker beats again, and drops entries after five
// minutes. Time in which the observer could not look (no control plane, no
// server) does not count against a worker that beat before it; for one that was
// silent before it the time continues, but nothing is reported until the observer
// has looked for long enough that a living worker would have been seen.
//
// The list does not carry the heartbeat's time, and asking for each worker
// costs one request each. So the list is filtered by it: the server is asked
// who beat within the last moments, in the clock that most workers share. Only
// those outside of that window are looked at one by one: the silent and those
// whose clock is off.
package fleet
