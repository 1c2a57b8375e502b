package rerun

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/temporal/pages"
	"github.com/roundsman/roundsman/starter"
)

// The states of jobs that were not done. A run that was terminated leaves jobs open.
var (
	failedStates = []string{contract.JobFailed, contract.JobStale}                                                                   //nolint:gochecknoglobals // constants
	missedStates = []string{contract.JobNotStarted, contract.JobExpired, contract.JobCanceled}                                       //nolint:gochecknoglobals // constants
	openStates   = []string{contract.JobPending, contract.JobAssigned, contract.JobRunning, contract.JobRecalling, contract.JobHeld} //nolint:gochecknoglobals // constants
)

// selects reports whether the choice has jobs in this state.
func (c Choice) selects(state string) bool {
	all := !c.Failed && !c.Missed
	switch state {
	case contract.JobNotStarted, contract.JobExpired, contract.JobCanceled, contract.JobPending, contract.JobAssigned:
		return all || c.Missed
	}
	return all || c.Failed
}

// chosen reads the jobs that were not done and returns the proposals of the chosen ones.
func (c Client) chosen(ctx context.Context, plan *Plan, run starter.Snapshot, choice Choice) ([]unit, error) {
	jobs, err := c.notDone(ctx, run)
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, name := range choice.Items {
		wanted[name] = false
	}
	var units []unit
	now := time.Now()
	for _, job := range jobs {
		var work contract.JobWork
		if job.Work != "" {
			if err := json.Unmarshal([]byte(job.Work), &work); err != nil {
				return nil, fmt.Errorf("the proposals of %s of %s: %w", job.ID, run.WorkflowID, err)
			}
		}
		one := Again{Job: job.ID, DedupeKey: job.DedupeKey, Summary: job.Summary, State: job.State, Error: job.Error}
		switch {
		case len(wanted) > 0 && !named(job, work, wanted), len(wanted) == 0 && !choice.selects(job.State):
			plan.keep(one, explain.Kept{Why: contract.KeptNotChosen})
		case len(work.Proposals) == 0:
			plan.keep(one, explain.Kept{Why: contract.KeptNoProposal})
		default:
			for _, p := range work.Proposals {
				one.DedupeKey, one.Summary = p.DedupeKey, p.Summary
				u := unit{Again: one, proposal: p, batchKey: work.BatchKey}
				fresh(&u, now)
				units = append(units, u)
			}
		}
	}
	keepWorkers(plan, run, choice)
	return units, c.others(ctx, plan, run, wanted)
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
	sortByNumber(jobs)
	return jobs, err
}

// keepWorkers notes the workers that a run did not reach: without a detection there is no
// proposal for them.
func keepWorkers(plan *Plan, run starter.Snapshot, choice Choice) {
	if run.Result == nil || len(choice.Items) > 0 || !choice.selects(contract.JobNotStarted) {
		return
	}
	for _, missed := range run.Result.Missed {
		plan.keep(Again{Summary: run.JobType + " on " + missed.Worker, State: contract.JobNotStarted, Error: missed.Detail}, explain.Kept{Why: contract.KeptNoProposal})
	}
}

// others finds the named jobs that were done. A name without a job is an error.
func (c Client) others(ctx context.Context, plan *Plan, run starter.Snapshot, wanted map[string]bool) error {
	for name, found := range wanted {
		if found {
			continue
		}
		filter := starter.ItemFilter{DedupeKey: name, Limit: 1}
		if _, is := contract.JobNumber(name); is {
			filter = starter.ItemFilter{ID: name, Limit: 1}
		}
		jobs, _, err := c.client.Runs().Items(ctx, starter.RunRef{WorkflowID: run.WorkflowID}, filter)
		if err != nil {
			return err
		}
		if len(jobs) == 0 {
			return &starter.NotFoundError{What: "job", Name: name, Hint: "see `roundsman jobs " + run.WorkflowID + "`"}
		}
		job := jobs[0]
		plan.keep(Again{Job: job.ID, DedupeKey: job.DedupeKey, Summary: job.Summary, State: job.State}, explain.Kept{Why: contract.KeptDone})
	}
	if run.Result != nil {
		plan.Done = run.Result.Counts.Done()
	}
	return nil
}

func sortByNumber(jobs []starter.Item) {
	slices.SortFunc(jobs, func(a, b starter.Item) int {
		x, _ := contract.JobNumber(a.ID)
		y, _ := contract.JobNumber(b.ID)
		return cmp.Compare(x, y)
	})
}
