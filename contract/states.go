package contract

import "slices"

// States of a job in the order of its life. Package dag has those of a task.
const (
	JobPending = "pending"
	// JobAssigned is a job that its worker has not taken yet, as the server sees it; to its run the job is running.
	JobAssigned  = "assigned"
	JobRunning   = "running"
	JobRecalling = "recalling"
	JobHeld      = "held"
	JobCompleted = "completed"
	// JobWarning is also a state of a task. The work was done, and its handler warns of something.
	JobWarning = "warning"
	// JobFailed and JobCanceled are also states of a task.
	JobFailed     = "failed"
	JobCanceled   = "canceled"
	JobStale      = "stale"
	JobExpired    = "expired"
	JobNotStarted = "not_started"
)

// JobStates lists the states of a job.
func JobStates() []string {
	return []string{JobPending, JobAssigned, JobRunning, JobRecalling, JobHeld, JobCompleted, JobWarning, JobFailed, JobCanceled, JobStale, JobExpired, JobNotStarted}
}

// MarkJobs sets the state of the jobs first to last in a map, by their numbers from 1.
func MarkJobs(jobs []byte, first, last int, state string) []byte {
	for len(jobs) < last {
		jobs = append(jobs, JobMapUnknown)
	}
	mark := byte(slices.Index(JobStates(), state)) //nolint:gosec // there are twelve; -1 is JobMapUnknown
	for i := first - 1; i < last; i++ {
		jobs[i] = mark
	}
	return jobs
}
