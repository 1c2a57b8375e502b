package rerun

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/internal/engine/retry"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// Client retries runs of job types.
type Client struct{ client *starter.Client }

// Of returns the part of a client that retries runs of job types.
func Of(c *starter.Client) Client { return Client{c} }

// Choice selects jobs of a run. The zero value selects all that were not done.
type Choice = retry.Choice

// Started is a retry that was started.
type Started struct {
	starter.RunRef
	// Resumes is the earlier run.
	Resumes string `json:"resumes"`
	// Already: the request was carried out before. Then there is no Plan.
	Already bool `json:"already_started,omitempty"`
	Plan    Plan `json:"plan"`
}

// Preview returns the effect of [Client.Start] and changes nothing.
func (c Client) Preview(ctx context.Context, of starter.RunRef, choice Choice) (Plan, error) {
	plan, _, err := c.plan(ctx, of, choice)
	return plan, err
}

// Start starts a run with the proposals of the chosen jobs. A request that is repeated starts nothing.
func (c Client) Start(ctx context.Context, of starter.RunRef, choice Choice, by string) (Started, error) {
	id := submissionID(ctx)
	if earlier, err := c.already(ctx, of, id); err != nil || earlier.Already {
		return earlier, err
	}
	started, err := c.start(ctx, of, choice, id, by)
	if err == nil {
		return started, nil
	}
	// The same request at the same time may have claimed the keys.
	if earlier, failed := c.already(ctx, of, id); failed == nil && earlier.Already {
		return earlier, nil
	}
	return started, err
}

// already finds the run that an earlier copy of the request started.
func (c Client) already(ctx context.Context, of starter.RunRef, id string) (Started, error) {
	started := Started{Resumes: of.WorkflowID}
	if _, repeatable := starter.RequestOf(ctx); !repeatable {
		return started, nil
	}
	earlier, err := c.client.Runs().Describe(ctx, starter.RunRef{WorkflowID: contract.AdHocWorkflowID(starter.JobTypeOfRun(of.WorkflowID), id)})
	if errors.Is(err, starter.ErrNotFound) {
		return started, nil
	}
	if err == nil && earlier.Resumes == of.WorkflowID {
		started.RunRef, started.Already = earlier.RunRef, true
		jobtypes.Of(c.client).RecordRetry(ctx, earlier.Run)
	}
	return started, err
}

func (c Client) start(ctx context.Context, of starter.RunRef, choice Choice, id, by string) (Started, error) {
	started := Started{Resumes: of.WorkflowID}
	plan, known, err := c.plan(ctx, of, choice)
	if started.Plan = plan; err != nil {
		return started, err
	}
	if plan.AgainTotal == 0 {
		return started, nothing(of, plan)
	}
	plan.submission.ID, plan.submission.By = id, by
	submitted, err := jobtypes.Of(c.client).Submit(ctx, known, plan.submission)
	started.RunRef = submitted.RunRef
	return started, err
}

// submissionID is that of the request, or a new one.
func submissionID(ctx context.Context) string {
	request, _ := starter.RequestOf(ctx)
	var random [4]byte
	_, _ = rand.Read(random[:]) // It never fails.
	return contract.RetryPrefix + cmp.Or(request.ID, time.Now().UTC().Format("20060102t150405")+"-"+hex.EncodeToString(random[:]))
}

// nothing refuses a retry without work.
func nothing(of starter.RunRef, plan Plan) error {
	reason := "all of its jobs were done"
	if plan.KeptTotal+plan.Done == 0 {
		reason = fmt.Sprintf("it has no jobs; to detect again: `roundsman start %s`", plan.JobType)
	}
	if plan.KeptTotal > 0 {
		first := plan.Kept[max(0, slices.IndexFunc(plan.Kept, func(k Kept) bool { return k.Why.Chosen() }))]
		reason = fmt.Sprintf("%s: %s", cmp.Or(first.DedupeKey, first.Job), first.Detail)
		if more := plan.KeptTotal - 1; more > 0 {
			reason += fmt.Sprintf("; and %d more: `roundsman retry %s --dry-run`", more, ref.OfRun(of.WorkflowID))
		}
	}
	return &starter.RefusedError{Asked: ref.OfRun(of.WorkflowID) + " has nothing to execute again", Reason: reason}
}

func (c Client) plan(ctx context.Context, of starter.RunRef, choice Choice) (Plan, jobtypes.JobType, error) {
	run, err := c.ended(ctx, of)
	if err != nil {
		return Plan{}, jobtypes.JobType{}, err
	}
	known, err := jobtypes.Of(c.client).Get(ctx, run.JobType)
	if err != nil {
		return Plan{}, known, fmt.Errorf("retry %s: %w", of, err)
	}
	plan := Plan{JobType: run.JobType, Again: []Again{}, Kept: []Kept{}, submission: contract.Submission{Resumes: run.WorkflowID}}
	if err := c.takeStart(ctx, &plan, run, &known); err != nil {
		return plan, known, err
	}
	selection, err := c.chosen(ctx, &plan, run, choice)
	if err != nil {
		return plan, known, err
	}
	facts := retry.Facts{Spec: known.Spec, MostJobs: known.Spec.Policy.MaxJobsPerDetection}
	if len(selection.Units) > 0 {
		if facts.Retried, err = c.retried(ctx, &plan, run); err != nil {
			return plan, known, err
		}
		if err := c.admission(ctx, &plan, selection.Units, &facts); err != nil {
			return plan, known, err
		}
	}
	again, kept, err := retry.Decide(selection.Units, facts)
	if err != nil {
		return plan, known, err
	}
	plan.decided(again, append(selection.Kept, kept...))
	if known.Spec.Batch == nil {
		plan.submission.BatchKeys = nil
	}
	if plan.AgainTotal > 0 {
		plan.submission.ID = contract.RetryPrefix + "preview"
		err = jobtypes.CheckSubmission(known, plan.submission)
	}
	return plan, known, err
}

// takeStart keeps the nominal time of a run, and the params of a run that was started with its own.
func (c Client) takeStart(ctx context.Context, plan *Plan, run starter.Snapshot, known *jobtypes.JobType) (err error) {
	if _, _, apart := contract.AdHocOf(run.WorkflowID); apart {
		var started contract.JobGroupInput
		if err := c.client.Runs().StartedWith(ctx, run.RunRef, &started); err != nil {
			return err
		}
		submitted := cmp.Or(started.Submission, &contract.Submission{})
		if started.OwnParams || submitted.OwnParams {
			plan.submission.OwnParams, known.Spec.Params = true, started.Spec.Params
		}
		plan.submission.ScheduledAt = submitted.ScheduledAt // The runs that it resumes may be gone.
	}
	if plan.submission.ScheduledAt.IsZero() {
		plan.submission.ScheduledAt, err = c.scheduled(ctx, run.Run)
	}
	return err
}

// ended is a run of a job type that can be retried.
func (c Client) ended(ctx context.Context, of starter.RunRef) (starter.Snapshot, error) {
	run, err := c.client.Runs().Show(ctx, of)
	if err != nil {
		return run, err
	}
	asked := "retry " + ref.OfRun(of.WorkflowID)
	switch {
	case run.Kind != starter.KindGroup:
		return run, &starter.RefusedError{Asked: asked, Reason: "it is a run of a DAG"}
	case run.DryRun:
		return run, &starter.RefusedError{Asked: asked, Reason: "it is a dry run: `roundsman start " + run.JobType + "`"}
	case run.Open():
		return run, &starter.RefusedError{Asked: asked, Reason: fmt.Sprintf("the run is open: wait for its end with `roundsman watch %s`, or cancel it first", of.WorkflowID)}
	}
	return run, nil
}

// scheduled returns the nominal time of a run, or of the run that a retry resumes. Without a Schedule it is the
// start of the first one.
func (c Client) scheduled(ctx context.Context, run starter.Run) (time.Time, error) {
	for at := starter.TickOf(run.WorkflowID); ; at = starter.TickOf(run.WorkflowID) {
		if !at.IsZero() {
			return at, nil
		}
		if run.Resumes == "" {
			return run.Started.UTC().Truncate(time.Second), nil
		}
		before, err := c.client.Runs().Describe(ctx, starter.RunRef{WorkflowID: run.Resumes})
		if errors.Is(err, starter.ErrNotFound) { // Its tick is in its id.
			return starter.TickOf(run.Resumes), nil
		}
		if err != nil {
			return time.Time{}, err
		}
		run = before.Run
	}
}
