package rerun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/retry"
	"github.com/roundsman/roundsman/internal/temporal/pages"
	"github.com/roundsman/roundsman/starter"
)

// The states of jobs that were not done. A run that was terminated leaves jobs open.
var (
	failedStates = []string{contract.JobFailed, contract.JobStale}                                                                   //nolint:gochecknoglobals // constants
	missedStates = []string{contract.JobNotStarted, contract.JobExpired, contract.JobCanceled}                                       //nolint:gochecknoglobals // constants
	openStates   = []string{contract.JobPending, contract.JobAssigned, contract.JobRunning, contract.JobRecalling, contract.JobHeld} //nolint:gochecknoglobals // constants
)

// chosen reads the jobs that were not done and selects among them.
func (c Client) chosen(ctx context.Context, plan *Plan, run starter.Snapshot, choice retry.Choice) (retry.Selection, error) {
	items, err := c.notDone(ctx, run)
	if err != nil {
		return retry.Selection{}, err
	}
	jobs := make([]retry.Job, 0, len(items))
	for _, item := range items {
		job := jobOf(item)
		if item.Work != "" {
			if err := json.Unmarshal([]byte(item.Work), &job.Work); err != nil {
				return retry.Selection{}, fmt.Errorf("the proposals of %s of %s: %w", item.ID, run.WorkflowID, err)
			}
		}
		jobs = append(jobs, job)
	}
	if run.Result != nil {
		plan.Done = run.Result.Counts.Done()
		for _, missed := range run.Result.Missed {
			jobs = append(jobs, retry.Job{Summary: run.JobType + " on " + missed.Worker, State: contract.JobNotStarted, Error: missed.Detail})
		}
	}
	selection := retry.Select(jobs, choice, time.Now())
	plan.Missed = selection.Missed
	done, err := c.done(ctx, run, selection.Unknown)
	selection.Kept = append(selection.Kept, done...)
	return selection, err
}

func jobOf(item starter.Item) retry.Job {
	return retry.Job{ID: item.ID, DedupeKey: item.DedupeKey, Summary: item.Summary, State: item.State, Error: item.Error}
}

// notDone lists the jobs that were not done, by number.
func (c Client) notDone(ctx context.Context, run starter.Snapshot) ([]starter.Item, error) {
	states := append(append([]string{}, failedStates...), missedStates...)
	if run.Result == nil {
		states = append(states, openStates...)
	} else if counts := run.Result.Counts; counts.Accepted == counts.Done() {
		return nil, nil
	}
	jobs, _, err := c.client.Runs().Items(ctx, starter.RunRef{WorkflowID: run.WorkflowID}, starter.ItemFilter{States: states, Limit: starter.All, Work: true})
	if errors.Is(err, pages.ErrLost) {
		return nil, &starter.RefusedError{
			Asked:  "retry " + run.WorkflowID,
			Reason: fmt.Sprintf("the record of its jobs is gone, the namespace keeps it for its retention only; `roundsman start %s` detects again (%v)", run.JobType, err),
		}
	}
	return jobs, err
}

// done finds the named jobs that were done. A name without a job is an error.
func (c Client) done(ctx context.Context, run starter.Snapshot, names []string) ([]retry.Kept, error) {
	var kept []retry.Kept
	for _, name := range names {
		filter := starter.ItemFilter{DedupeKey: name, Limit: 1}
		if _, is := contract.JobNumber(name); is {
			filter = starter.ItemFilter{ID: name, Limit: 1}
		}
		jobs, _, err := c.client.Runs().Items(ctx, starter.RunRef{WorkflowID: run.WorkflowID}, filter)
		if err != nil {
			return nil, err
		}
		if len(jobs) == 0 {
			return nil, &starter.NotFoundError{What: "job", Name: name, Hint: "see `roundsman jobs " + run.WorkflowID + "`"}
		}
		kept = append(kept, retry.Kept{Job: jobOf(jobs[0]), Why: contract.KeptDone})
	}
	return kept, nil
}
