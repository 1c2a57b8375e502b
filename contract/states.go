package contract

// States of a job, in the order of its life. Those of a task are package dag's.
const (
	JobPending = "pending"
	// JobAssigned is a job that its run has given to a worker which has not taken it
	// yet: only the server knows that. To the run it is running.
	JobAssigned  = "assigned"
	JobRunning   = "running"
	JobRecalling = "recalling"
	JobHeld      = "held"
	JobCompleted = "completed"
	// JobFailed and JobCanceled are also states of a task.
	JobFailed     = "failed"
	JobCanceled   = "canceled"
	JobStale      = "stale"
	JobExpired    = "expired"
	JobNotStarted = "not_started"
)

// JobStates lists the states of a job.
func JobStates() []string {
	return []string{JobPending, JobAssigned, JobRunning, JobRecalling, JobHeld, JobCompleted, JobFailed, JobCanceled, JobStale, JobExpired, JobNotStarted}
}
