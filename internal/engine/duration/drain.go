package duration

import (
	"slices"
	"time"

	"github.com/roundsman/roundsman/internal/engine/instant"
)

// Running is an attempt on a worker.
type Running struct {
	Attempt

	JobID, WorkflowID string
	StartedAt         time.Time
	// Limit ends the attempt that long after its start; 0: none is known.
	Limit time.Duration
}

// Drain estimates when a worker is free if it is drained now: at the end of its last attempt.
type Drain struct {
	// End of the attempts with an estimate; zero: there is none.
	FreeAt time.Time `json:"free_at,omitzero"`
	// Unknown counts the others: they may run for longer than that.
	Unknown int `json:"unknown"`
	// Latest is when the time limits of all are over; zero: of one none is known.
	Latest time.Time `json:"latest,omitzero"`
	// Jobs are the running jobs: first jobs without an estimate, then the last to end.
	Jobs []DrainJob `json:"jobs"`
}

// DrainJob is the estimated end of one attempt.
type DrainJob struct {
	JobID      string `json:"job_id"`
	WorkflowID string `json:"workflow_id"`
	// EndsAt is the estimate, Basis its source, Of the number of past attempts used.
	EndsAt time.Time `json:"ends_at,omitzero"`
	Basis  Basis     `json:"basis,omitempty"`
	Of     int       `json:"of,omitempty"`
	// Latest is when its time limit ends it; zero: none is known.
	Latest time.Time `json:"latest,omitzero"`
}

// DrainOf estimates the end of all running attempts. omitted counts attempts outside the list.
func DrainOf(now time.Time, running []Running, omitted int) Drain {
	drain := Drain{Unknown: omitted, Jobs: make([]DrainJob, 0, len(running))}
	limited := omitted == 0
	for _, attempt := range running {
		job := DrainJob{JobID: attempt.JobID, WorkflowID: attempt.WorkflowID}
		attempt.Elapsed = max(now.Sub(attempt.StartedAt), 0)
		left, basis := Left(attempt.Attempt)
		switch job.Basis = basis; basis {
		case Unknown:
			drain.Unknown++
		case ByPast:
			job.Of = len(attempt.Past)
			fallthrough
		case ByProgress, ByEstimate:
			job.EndsAt = now.Add(left)
		}
		if limited = limited && attempt.Limit > 0; attempt.Limit > 0 {
			job.Latest = attempt.StartedAt.Add(attempt.Limit)
		}
		drain.FreeAt, drain.Latest = instant.Later(drain.FreeAt, job.EndsAt), instant.Later(drain.Latest, job.Latest)
		drain.Jobs = append(drain.Jobs, job)
	}
	if !limited {
		drain.Latest = time.Time{}
	}
	slices.SortStableFunc(drain.Jobs, func(a, b DrainJob) int {
		if a.EndsAt.IsZero() != b.EndsAt.IsZero() {
			return a.EndsAt.Compare(b.EndsAt)
		}
		return b.EndsAt.Compare(a.EndsAt)
	})
	return drain
}
