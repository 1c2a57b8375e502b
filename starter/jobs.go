package starter

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/roundsman/roundsman/contract"
)

// Job is one job as operators see it: what its group says, and for a running
// one what its worker last reported.
type Job struct {
	contract.JobView
	Run    RunRef     `json:"run"`
	Active *ActiveJob `json:"active,omitempty"`
}

// Ref is the job's address.
func (j Job) Ref() JobRef { return JobRef{Run: j.Run, JobID: j.JobID} }

// JobFilter narrows [Runs.Jobs].
type JobFilter struct {
	// States keeps jobs in one of these states; empty keeps all.
	States []string
	// DedupeKey keeps the job with that key.
	DedupeKey string
	// Limit is the most jobs returned. Default 200.
	Limit int
}

// jobsPage is how many jobs one query carries. A view has well under 1 KiB, so
// a page stays far from the 2 MiB that a payload may have.
const jobsPage = 200

// The states of a job, in the order of its life. Assigned is one that its group
// has given to a worker which has not taken it yet: only the server knows that.
const (
	statePending    = "pending"
	stateAssigned   = "assigned"
	stateRunning    = "running"
	stateRecalling  = "recalling"
	stateHeld       = "held"
	stateCompleted  = "completed"
	stateFailed     = "failed"
	stateCanceled   = "canceled"
	stateStale      = "stale"
	stateExpired    = "expired"
	stateNotStarted = "not_started"
)

// JobStates lists the states a job can be in.
func JobStates() []string {
	return []string{
		statePending, stateAssigned, stateRunning, stateRecalling, stateHeld,
		stateCompleted, stateFailed, stateCanceled, stateStale, stateExpired, stateNotStarted,
	}
}

// Jobs lists the jobs of a run, open or closed, and how many match in total.
// It needs a control plane, also for a closed run.
func (r Runs) Jobs(ctx context.Context, ref RunRef, filter JobFilter) ([]Job, int, error) {
	limit := filter.Limit
	if limit <= 0 {
		limit = jobsPage
	}
	if !filter.tellsAssigned() {
		return r.jobs(ctx, ref, filter, limit)
	}
	// The group does not tell the two apart, so that all of them are looked at.
	wide := filter
	wide.States = append(slices.Clone(filter.States), stateRunning)
	jobs, _, err := r.jobs(ctx, ref, wide, math.MaxInt)
	jobs = slices.DeleteFunc(jobs, func(job Job) bool { return !slices.Contains(filter.States, job.State) })
	return jobs[:min(limit, len(jobs))], len(jobs), err
}

// tellsAssigned reports whether it chooses either the assigned or the running
// jobs, not both.
func (f JobFilter) tellsAssigned() bool {
	return slices.Contains(f.States, stateAssigned) != slices.Contains(f.States, stateRunning)
}

func (r Runs) jobs(ctx context.Context, ref RunRef, filter JobFilter, limit int) ([]Job, int, error) {
	described, err := r.describe(ctx, ref)
	if err != nil {
		return nil, 0, err
	}
	// Pinned, so that pages of one list come from one workflow run.
	pinned := described.RunRef
	var jobs []Job
	total := 0
	for len(jobs) < limit {
		var page contract.JobsQueryResult
		err := r.client.query(ctx, pinned, contract.QueryJobs, &page, contract.JobsQueryInput{
			States: filter.States, DedupeKey: filter.DedupeKey,
			Offset: len(jobs), Limit: min(jobsPage, limit-len(jobs)),
		})
		if err != nil {
			return nil, 0, err
		}
		total = page.Total
		jobs = append(jobs, mergeActive(pinned, page.Jobs, described.Active)...)
		if len(page.Jobs) == 0 || len(jobs) >= total {
			break
		}
	}
	return jobs, total, nil
}

// Job shows one job.
func (r Runs) Job(ctx context.Context, ref JobRef) (Job, error) {
	described, err := r.describe(ctx, ref.Run)
	if err != nil {
		return Job{}, err
	}
	var page contract.JobsQueryResult
	err = r.client.query(ctx, described.RunRef, contract.QueryJobs, &page, contract.JobsQueryInput{JobID: ref.JobID, Limit: 1})
	if err != nil {
		return Job{}, err
	}
	if len(page.Jobs) == 0 {
		return Job{}, &NotFoundError{What: "job", Name: ref.String(), Hint: "see `roundsman jobs list " + ref.Run.WorkflowID + "`"}
	}
	return mergeActive(described.RunRef, page.Jobs, described.Active)[0], nil
}

// JobByKey shows the job of a run that stands for the proposal with a dedupe key.
func (r Runs) JobByKey(ctx context.Context, ref RunRef, key string) (Job, error) {
	jobs, _, err := r.Jobs(ctx, ref, JobFilter{DedupeKey: key, Limit: 1})
	if err != nil {
		return Job{}, err
	}
	if len(jobs) == 0 {
		return Job{}, &NotFoundError{What: "job with key", Name: key, Hint: "see `roundsman jobs list " + ref.WorkflowID + "`"}
	}
	// Without the run's own id: the run may continue as new.
	jobs[0].Run = RunRef{WorkflowID: ref.WorkflowID}
	return jobs[0], nil
}

func mergeActive(ref RunRef, views []contract.JobView, active []ActiveJob) []Job {
	jobs := make([]Job, len(views))
	for i, view := range views {
		jobs[i] = Job{JobView: view, Run: ref}
		at := slices.IndexFunc(active, func(a ActiveJob) bool { return a.JobID == view.JobID })
		if at >= 0 {
			jobs[i].Active = &active[at]
		}
		if at >= 0 && view.State == stateRunning && !active[at].Started {
			jobs[i].State = stateAssigned
		}
	}
	return jobs
}

// CancelJob asks a run to cancel one job. A signal cannot be refused, so the
// job is looked up first; if no control plane answers, the signal is sent all
// the same and acted on later, which the returned error says.
func (r Runs) CancelJob(ctx context.Context, ref JobRef, reason string) error {
	return r.endJob(ctx, ref, "cancel", contract.SignalCancelJob, reason)
}

// ExpireJob makes a run give up one job at once, without waiting for its
// handler, which is told to stop and whose outcome is not heard any more. A job
// that had begun ends as stale, another as expired. For the rest it is like
// CancelJob.
func (r Runs) ExpireJob(ctx context.Context, ref JobRef, reason string) error {
	return r.endJob(ctx, ref, "expire", contract.SignalExpireJob, reason)
}

func (r Runs) endJob(ctx context.Context, ref JobRef, verb, signal, reason string) error {
	described, err := r.describe(ctx, ref.Run)
	if err != nil {
		return err
	}
	if !described.Open() {
		return fmt.Errorf("run %s has %w (%s): there is nothing to %s", ref.Run.WorkflowID, ErrAlreadyEnded, described.endedAs(), verb)
	}
	job, lookupErr := r.Job(ctx, ref)
	switch {
	case lookupErr != nil && !Unanswered(lookupErr):
		return lookupErr
	case lookupErr == nil && !cancelable(job.State):
		return fmt.Errorf("job %s has %w (%s): there is nothing to %s", ref, ErrAlreadyEnded, job.State, verb)
	}
	err = r.client.temporal.SignalWorkflow(ctx, ref.Run.WorkflowID, "", signal,
		contract.CancelJobInput{JobID: ref.JobID, Reason: reason})
	if err != nil {
		return runEndedMeanwhile(ref.Run, err)
	}
	if lookupErr != nil {
		return fmt.Errorf("the request was sent and will be acted on later: %w", lookupErr)
	}
	return nil
}

func cancelable(state string) bool {
	switch state {
	case stateCompleted, stateFailed, stateCanceled, stateStale, stateExpired, stateNotStarted:
		return false
	}
	return true
}
