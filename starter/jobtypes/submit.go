package jobtypes

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/contract"
	dagspec "github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/engine/backlog"
	"github.com/roundsman/roundsman/internal/engine/batch"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/internal/lib/pack"
	"github.com/roundsman/roundsman/internal/temporal/pages"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

// Submitted is the result of a submission.
type Submitted struct {
	starter.RunRef

	ID string `json:"id"`
	// Already is true for a repeated submission; nothing was started.
	Already bool `json:"already_submitted"`
	Jobs    int  `json:"jobs"`
}

// parallelPuts is the number of pages that are stored at once.
const parallelPuts = 8

// submissionKey is the memo with the digest of the submission.
const submissionKey = "roundsman_submission"

var submissionID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// Submit runs jobs of an applied job type without a detection, in their own group. A paused job type accepts them too.
//
// Repeating a submission, by its id, returns Already until the server drops the first run, and records the submission if
// the first attempt was killed before it did. Another submission under the same id is refused. Invalid proposals give a
// [*SubmissionError].
func (c Client) Submit(ctx context.Context, known JobType, submission contract.Submission) (Submitted, error) {
	if known.Fault != "" {
		return Submitted{}, &starter.RefusedError{Asked: "job type " + known.Name, Reason: known.Fault}
	}
	digest, parts, err := checkSubmission(known.Spec, submission, time.Now())
	if err != nil {
		return Submitted{}, err
	}
	if submission.BatchKeys, err = keysOf(known.Spec, submission, parts); err != nil {
		return Submitted{}, err
	}
	submitted := Submitted{
		RunRef: starter.RunRef{WorkflowID: contract.AdHocWorkflowID(known.Name, submission.ID)},
		ID:     submission.ID, Jobs: len(submission.Proposals),
	}
	if len(parts.Lists) > 0 { // A repeated submission stores no pages.
		repeated, err := c.sameSubmission(ctx, known.Name, submitted, submission, digest)
		if _, unknown := errors.AsType[*serviceerror.NotFound](err); !unknown {
			return repeated, err
		}
	}
	summary := summaryOfSubmission(known.Name, submission)
	if submission.Pages, err = c.storePages(ctx, submitted.WorkflowID, parts); err != nil {
		return Submitted{}, err
	}
	submission.Proposals, submission.Duplicates = parts.Own, parts.Duplicates
	run, err := c.client.Temporal().ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                                       submitted.WorkflowID,
		TaskQueue:                                contract.ControlQueue,
		WorkflowIDReusePolicy:                    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		StaticSummary:                            summary,
		StaticDetails: fmt.Sprintf("Jobs that were submitted by hand, with the settings of job type `%s`\n\n`roundsman show %s` has their progress",
			known.Name, submitted.WorkflowID),
		Memo: memoOf(submission, digest),
		TypedSearchAttributes: temporal.NewSearchAttributes(
			temporal.NewSearchAttributeKeyKeyword(contract.SearchAttributeJobType).ValueSet(known.Name),
		),
	}, contract.JobGroupWorkflow, arguments(known.Spec, submission)...)
	if _, twice := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); twice {
		return c.sameSubmission(ctx, known.Name, submitted, submission, digest)
	}
	if err != nil {
		return Submitted{}, fmt.Errorf("start an ad-hoc group of %s: %w", known.Name, rpc.Advised(err))
	}
	submitted.RunID = run.GetRunID()
	c.recordSubmission(ctx, known.Name, submitted, submission, submitted.RunID)
	return submitted, nil
}

// The entry has the id of its run, so the audit log keeps one of a repetition.
func (c Client) recordSubmission(ctx context.Context, name string, submitted Submitted, submission contract.Submission, runID string) {
	entry := contract.AuditEntry{Action: "jobs.submit", JobType: name, Object: submitted.WorkflowID, Count: submitted.Jobs}
	if submission.Resumes != "" {
		entry.Action, entry.Before = "jobs.retry", submission.Resumes
	}
	if submission.IgnoreWindow {
		entry.Detail = ignoredWindow
	}
	entry.ID = fmt.Sprintf("%s/%s/%s", entry.Action, entry.Object, runID)
	c.client.Audit().Record(ctx, entry)
}

func arguments(spec contract.JobTypeSpec, submission contract.Submission) []any {
	in := contract.JobGroupInput{Spec: spec, Submission: &submission}
	if !submission.Paged() {
		return []any{in}
	}
	in.State = &contract.JobGroupState{}
	return []any{in, pack.Bytes([]byte(contract.FirstState))}
}

// The keeper closes the pages if the group never starts.
func (c Client) storePages(ctx context.Context, run string, parts backlog.Divided) ([]contract.ProposalPage, error) {
	store := pages.NewStore(c.client.Temporal(), c.client.Namespace(), starter.DataConverter())
	described := parts.Pages
	puts, ctx := errgroup.WithContext(ctx)
	puts.SetLimit(parallelPuts)
	for i, list := range parts.Lists {
		puts.Go(func() error {
			data, err := pages.PackProposals(list)
			if err == nil {
				described[i].Page, err = store.Put(ctx, run, data)
			}
			return err
		})
	}
	if err := puts.Wait(); err != nil {
		return nil, fmt.Errorf("nothing was started: %w", rpc.Advised(err))
	}
	return described, nil
}

func memoOf(submission contract.Submission, digest string) map[string]any {
	memo := map[string]any{submissionKey: digest}
	if submission.Resumes != "" {
		memo[contract.MemoResumes] = submission.Resumes
	}
	return memo
}

// CheckSubmission returns the error that [Client.Submit] would return before it starts a run.
func CheckSubmission(known JobType, submission contract.Submission) error {
	if _, _, err := checkSubmission(known.Spec, submission, time.Now()); err != nil {
		return err
	}
	_, err := batchKeys(known.Spec, submission.Proposals)
	return err
}

// keysOf returns the batch key of each proposal that the group gets. A retry has the keys of the earlier run.
func keysOf(spec contract.JobTypeSpec, submission contract.Submission, parts backlog.Divided) ([]string, error) {
	if submission.Resumes != "" {
		return submission.BatchKeys, nil
	}
	keys, err := batchKeys(spec, submission.Proposals)
	if err == nil && parts.Duplicates > 0 {
		keys, err = batchKeys(spec, parts.Own)
	}
	return keys, err
}

func batchKeys(spec contract.JobTypeSpec, proposals []jobtype.Proposal) ([]string, error) {
	if spec.Batch == nil {
		return nil, nil
	}
	keys, err := batch.Keys(spec.Batch.By, spec.Params, proposals)
	if err != nil {
		return nil, &SubmissionError{JobType: spec.Name, Faults: []error{err}}
	}
	return keys, nil
}

// recordedAgain is how long after its start a repetition records a submission. Later the audit log may have dropped the id
// of the entry, and would keep a second one.
const recordedAgain = time.Hour

// sameSubmission returns the repeated submission. Its first attempt may have been killed before it recorded the start.
func (c Client) sameSubmission(ctx context.Context, name string, submitted Submitted, submission contract.Submission, digest string) (Submitted, error) {
	described, err := c.client.Temporal().DescribeWorkflowExecution(ctx, submitted.WorkflowID, "")
	if err != nil {
		return submitted, fmt.Errorf("run %s: %w", submitted.WorkflowID, err)
	}
	info := described.GetWorkflowExecutionInfo()
	other := ""
	if payload := info.GetMemo().GetFields()[submissionKey]; payload != nil {
		if err := starter.DataConverter().FromPayload(payload, &other); err != nil {
			return submitted, fmt.Errorf("run %s: its memo cannot be read: %w", submitted.WorkflowID, err)
		}
	}
	if other != digest || rpc.Keyword(info.GetSearchAttributes(), contract.SearchAttributeJobType) != name {
		return submitted, &SubmissionError{JobType: name, Faults: []error{fmt.Errorf(
			"id %s: something else was submitted under it (see `roundsman show %s`): choose another id", submitted.ID, submitted.WorkflowID)}}
	}
	submitted.Already = true
	if isYoung(info) {
		c.recordSubmission(ctx, name, submitted, submission, info.GetExecution().GetRunId())
	}
	return submitted, nil
}

// A run that has continued as new is not young.
func isYoung(info *workflowpb.WorkflowExecutionInfo) bool {
	runID := info.GetExecution().GetRunId()
	return cmp.Or(info.GetFirstRunId(), runID) == runID && time.Since(rpc.Time(info.GetStartTime())) < recordedAgain
}

// RecordRetry records a retry that an earlier attempt of the request has started. That attempt may have been killed before
// it recorded the start; the audit log keeps one entry. Without an answer the next attempt records it.
func (c Client) RecordRetry(ctx context.Context, started starter.Run) {
	described, err := c.client.Temporal().DescribeWorkflowExecution(ctx, started.WorkflowID, "")
	if info := described.GetWorkflowExecutionInfo(); err == nil && isYoung(info) {
		submitted := Submitted{RunRef: started.RunRef}
		if shown, err := c.client.Runs().Show(ctx, started.RunRef); err == nil && shown.Progress != nil {
			submitted.Jobs = shown.Progress.Total
		}
		c.recordSubmission(ctx, started.JobType, submitted, contract.Submission{Resumes: started.Resumes}, info.GetExecution().GetRunId())
	}
}

func summaryOfSubmission(name string, submission contract.Submission) string {
	text := fmt.Sprintf("ad-hoc %s %s", name, submission.ID)
	if len(submission.Proposals) == 1 && submission.Proposals[0].Summary != "" {
		text = submission.Proposals[0].Summary
	}
	return jobtype.Clip(text, maxSummary)
}

// SubmissionError lists all errors of a submission. Nothing was started.
type SubmissionError struct {
	JobType string
	Faults  []error
}

// Error implements error.
func (e *SubmissionError) Error() string {
	return fmt.Sprintf("nothing was submitted for job type %s: %v", e.JobType, errors.Join(e.Faults...))
}

// Unwrap returns the errors.
func (e *SubmissionError) Unwrap() []error { return e.Faults }

// checkSubmission refuses proposals that the group would drop.
func checkSubmission(spec contract.JobTypeSpec, submission contract.Submission, now time.Time) (string, backlog.Divided, error) {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if !submissionID.MatchString(submission.ID) {
		fault("id %q: it must match %s", submission.ID, submissionID)
	} else if ref.Reserved(submission.ID) {
		fault("id %q: NAME@%s means another run, choose an id that is no time and not open, last or bad", submission.ID, submission.ID)
	}
	switch n, limit := len(submission.Proposals), spec.Policy.MaxJobsPerDetection; {
	case n == 0:
		fault("there is no proposal in it")
	case n > limit:
		fault("it has %d proposals, max_jobs_per_detection of %s is %d: submit it in parts", n, spec.Name, limit)
	}
	first := firstStart(submission.Proposals, now)
	for i, p := range submission.Proposals {
		err := proposalFault(spec, p, first, now)
		if err == nil {
			err = dagFault(spec, p)
		}
		if err != nil {
			fault("proposal %d: %w", i+1, err)
		}
	}
	var parts backlog.Divided
	if len(faults) == 0 {
		var err error
		if parts, err = backlog.Divide(spec, submission.Proposals); err != nil {
			faults = append(faults, err)
		}
	}
	if len(faults) > 0 {
		return "", parts, &SubmissionError{JobType: spec.Name, Faults: faults}
	}
	digest, err := digestOf(submission.Proposals)
	return digest, parts, err
}

// digestOf omits times: a repeated submission may have given them relative to now.
func digestOf(proposals []jobtype.Proposal) (string, error) {
	work := slices.Clone(proposals)
	for i := range work {
		work[i].NotBefore, work[i].ExpiresAt = time.Time{}, time.Time{}
	}
	encoded, err := json.Marshal(work)
	if err != nil {
		return "", fmt.Errorf("encode the submission: %w", err)
	}
	digest := sha256.Sum256(encoded)
	return hex.EncodeToString(digest[:]), nil
}

func dagFault(known contract.JobTypeSpec, p jobtype.Proposal) error {
	switch {
	case known.DAG == nil:
		return nil
	case p.DAG != "":
		return fmt.Errorf("dag: job type %s already has the DAG %s: leave dag out", known.Name, known.DAG.File)
	}
	merged, err := jobtype.OverlayParams(known.Params, p.Params)
	if err == nil {
		_, err = dagspec.CompileText(known.DAG.File, known.DAG.Text, known.DAG.Files, merged)
	}
	return err
}

// maxAhead bounds the start of a submission; a later one is a typing error.
const maxAhead = 366 * 24 * time.Hour

func firstStart(proposals []jobtype.Proposal, now time.Time) time.Time {
	var first time.Time
	for i, p := range proposals {
		if i == 0 || p.NotBefore.Before(first) {
			first = p.NotBefore
		}
	}
	if first.Before(now) {
		return now
	}
	return first
}

func proposalFault(spec contract.JobTypeSpec, p jobtype.Proposal, first, now time.Time) error {
	if err := p.Validate(); err != nil {
		return err
	}
	at := p.NotBefore.UTC().Format(time.RFC3339)
	if p.NotBefore.After(now.Add(maxAhead)) {
		return fmt.Errorf("not_before %s is more than a year away: choose an earlier time", at)
	}
	if p.NotBefore.After(first.Add(spec.Policy.MaxRuntime.Std())) {
		return fmt.Errorf("not_before %s is later than the first job's, %s, by more than max_runtime of %s (%s): submit it separately, or raise max_runtime",
			at, first.UTC().Format(time.RFC3339), spec.Name, spec.Policy.MaxRuntime)
	}
	if !p.ExpiresAt.IsZero() && !p.ExpiresAt.After(now) {
		return fmt.Errorf("expires_at %s has passed: choose a later time", p.ExpiresAt.UTC().Format(time.RFC3339))
	}
	return nil
}
