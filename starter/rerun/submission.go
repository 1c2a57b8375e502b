package rerun

import (
	"context"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/retry"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// Submission returns the plan of a submission: its proposals that would run, and those whose key
// another run has or that are held back. It starts nothing.
func (c Client) Submission(ctx context.Context, known jobtypes.JobType, submission contract.Submission) (Plan, error) {
	plan := Plan{JobType: known.Name, Again: []Again{}, Kept: []Kept{}}
	if err := jobtypes.CheckSubmission(known, submission); err != nil {
		return plan, err
	}
	units := make([]retry.Unit, len(submission.Proposals))
	for i, p := range submission.Proposals {
		units[i] = retry.Unit{Proposal: p, Job: retry.Job{
			DedupeKey: p.DedupeKey, Summary: p.Summary, State: contract.JobPending,
		}}
	}
	facts := retry.Facts{Spec: known.Spec, MostJobs: len(units)}
	if err := c.admission(ctx, &plan, units, &facts); err != nil {
		return plan, err
	}
	again, kept, err := retry.Decide(units, facts)
	if err != nil {
		return plan, err
	}
	plan.decided(again, kept)
	return plan, nil
}
