// Package fleet watches the heartbeats that worker processes send to the Temporal server, for the registry workflow.
//
// [Observer.ObserveWorkers] is one long activity. It polls the server's list of workers every three tenths of a
// heartbeat interval (1.5 s) and returns only when something changed. A healthy idle fleet costs no history, also
// over restarts of the control plane: a retried activity continues from its heartbeat.
//
// A worker is judged by changes of its heartbeat's time, never by the time itself: the worker's clock may be minutes
// off. All dates are the server's clock at the start of the attempt plus this process's monotonic time, so several
// control planes agree.
//
// A missing entry is no evidence. The server's list is in memory: it is empty after a restart, and drops entries
// after five minutes. A gap without observation does not count against a worker that beat before it. Nothing is
// reported until the observer has looked for long enough to see a living worker.
//
// The list lacks the heartbeat's time, and reading one worker costs one request. So the query selects the workers
// that beat within the last moments, in the clock that most workers share. Only other workers are read one by one.
package fleet
