package starter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// Runs is the part of the client about runs and their jobs.
type Runs struct{ client *Client }

// Runs gives the part of the client about runs and their jobs.
func (c *Client) Runs() Runs { return Runs{c} }

// RunStatus is what Temporal says of a run's workflow, in its own words.
type RunStatus string

// StatusRunning is the status of an open workflow; but for StatusPaused every
// other one is closed.
const StatusRunning RunStatus = "Running"

// Kind tells the two kinds of runs apart.
type Kind string

// The kinds.
const (
	// KindGroup is a run of a job type: its jobs were detected or submitted.
	KindGroup Kind = "group"
	// KindDAG is a run of a DAG: its tasks depend on each other.
	KindDAG Kind = "dag"
)

// Kind is which kind of run the workflow id names.
func (r RunRef) Kind() Kind {
	if _, _, ok := contract.DAGOfWorkflow(r.WorkflowID); ok {
		return KindDAG
	}
	return KindGroup
}

// Run is one run of a job type or of a DAG, as a list shows it.
type Run struct {
	RunRef
	Kind Kind `json:"kind"`
	// JobType is empty for a run of a DAG, DAG for that of a job type.
	JobType string    `json:"job_type,omitempty"`
	DAG     string    `json:"dag,omitempty"`
	Status  RunStatus `json:"status"`
	// Outcome is empty while the run is open, and for one that was terminated.
	Outcome contract.Outcome `json:"outcome,omitempty"`
	DryRun  bool             `json:"dry_run,omitempty"`
	// AdHoc is the id of the submission that made the run; empty for all others.
	AdHoc   string    `json:"ad_hoc,omitempty"`
	Started time.Time `json:"started_at,omitzero"`
	Ended   time.Time `json:"ended_at,omitzero"`
}

// Open reports whether the run is still going on.
func (r Run) Open() bool { return r.Status.open() }

// Name is the job type or the DAG of the run.
func (r Run) Name() string { return cmp.Or(r.JobType, r.DAG) }

// RunFilter narrows [Runs.List].
type RunFilter struct {
	// JobType keeps the runs of one job type, DAG those of one DAG.
	JobType, DAG string
	// Kind keeps one kind; empty: both.
	Kind Kind
	// Since and Until keep runs that started within; zero: no bound.
	Since, Until time.Time
	// Running keeps open runs only.
	Running bool
	// Outcomes keeps runs that ended as one of these; empty: all.
	Outcomes []contract.Outcome
	// DryRuns adds the dry runs, SubDAGs the runs of sub-DAGs and of jobs; both are
	// left out otherwise.
	DryRuns, SubDAGs bool
	// Limit is the most runs returned, newest first. Default 20.
	Limit int
}

// DefaultRunLimit is how many runs a list shows unless told otherwise.
const DefaultRunLimit = 20

// List lists runs, newest first. The list comes from visibility, which may lag
// by a second and must not be polled; for one job type the Schedule is asked
// too, which knows its running group at once.
func (r Runs) List(ctx context.Context, filter RunFilter) ([]Run, error) {
	filter.Limit = cmp.Or(filter.Limit, DefaultRunLimit)
	query, err := filter.query()
	if err != nil {
		return nil, err
	}
	found, err := r.visible(ctx, query, filter)
	if err != nil {
		return nil, err
	}
	if filter.JobType != "" && len(filter.Outcomes) == 0 && filter.Until.IsZero() {
		found = r.addScheduled(ctx, filter.JobType, found)
	}
	slices.SortStableFunc(found, func(a, b Run) int { return b.Started.Compare(a.Started) })
	return found[:min(len(found), filter.Limit)], nil
}

func (f RunFilter) query() (string, error) {
	types := map[Kind]string{
		KindGroup: fmt.Sprintf("WorkflowType = '%s'", contract.JobGroupWorkflow),
		KindDAG:   fmt.Sprintf("WorkflowType = '%s'", contract.DAGWorkflow),
		"":        fmt.Sprintf("WorkflowType IN ('%s', '%s')", contract.JobGroupWorkflow, contract.DAGWorkflow),
	}
	kind := f.Kind
	var terms []string
	// Names enter the query's text: validated, they cannot leave their quotes.
	if f.JobType != "" {
		if err := jobtype.ValidateName(f.JobType); err != nil {
			return "", fmt.Errorf("job type: %w", err)
		}
		kind = KindGroup
		terms = append(terms, fmt.Sprintf("%s = '%s'", contract.SearchAttributeJobType, f.JobType))
	}
	if f.DAG != "" {
		if err := jobtype.ValidateName(f.DAG); err != nil {
			return "", fmt.Errorf("DAG: %w", err)
		}
		kind = KindDAG
		terms = append(terms, fmt.Sprintf("WorkflowId STARTS_WITH '%s'", contract.DAGWorkflowID(f.DAG, "")))
	}
	if f.Running {
		terms = append(terms, contract.QueryOpen)
	}
	if !f.Since.IsZero() {
		terms = append(terms, fmt.Sprintf("StartTime >= '%s'", f.Since.UTC().Format(time.RFC3339Nano)))
	}
	if !f.Until.IsZero() {
		terms = append(terms, fmt.Sprintf("StartTime <= '%s'", f.Until.UTC().Format(time.RFC3339Nano)))
	}
	var outcomes []string
	for _, outcome := range f.Outcomes {
		if err := jobtype.ValidateName(string(outcome)); err != nil {
			return "", fmt.Errorf("outcome: %w", err)
		}
		outcomes = append(outcomes, "'"+string(outcome)+"'")
	}
	if len(outcomes) > 0 {
		terms = append(terms, fmt.Sprintf("%s IN (%s)", contract.SearchAttributeOutcome, strings.Join(outcomes, ", ")))
	}
	return strings.Join(append([]string{types[kind], "ExecutionStatus != 'ContinuedAsNew'"}, terms...), " AND "), nil
}

func (r Runs) visible(ctx context.Context, query string, filter RunFilter) ([]Run, error) {
	var found []Run
	var token []byte
	for {
		page, err := r.client.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace:     r.client.namespace,
			PageSize:      int32(min(filter.Limit+10, 1000)), //nolint:gosec // bounded right here
			NextPageToken: token,
			Query:         query,
		})
		if err != nil {
			return nil, listError(err)
		}
		for _, execution := range page.GetExecutions() {
			if run := r.runOf(execution); filter.keeps(run) {
				found = append(found, run)
			}
		}
		token = page.GetNextPageToken()
		if len(token) == 0 || len(found) >= filter.Limit {
			return found, nil
		}
	}
}

func (f RunFilter) keeps(run Run) bool {
	if run.Kind == KindDAG {
		_, unique, standalone := contract.DAGOfWorkflow(run.WorkflowID)
		return f.SubDAGs || standalone && !strings.Contains(unique, "/")
	}
	return f.DryRuns || !run.DryRun
}

func listError(err error) error {
	if strings.Contains(err.Error(), contract.SearchAttributeJobType) || strings.Contains(err.Error(), contract.SearchAttributeOutcome) {
		return fmt.Errorf("list runs: %w: the namespace lacks a search attribute; `roundsman doctor` says how to create it", err)
	}
	return fmt.Errorf("list runs: %w", err)
}

// addScheduled adds runs that the Schedule has started and visibility does not
// show yet. What it cannot find out it leaves out: the list stays right without.
func (r Runs) addScheduled(ctx context.Context, name string, found []Run) []Run {
	applied, err := r.client.JobTypes().Get(ctx, name)
	if err != nil {
		return found
	}
	for _, running := range applied.Running {
		known := slices.ContainsFunc(found, func(run Run) bool { return run.WorkflowID == running.WorkflowID })
		if known {
			continue
		}
		if run, err := r.describe(ctx, RunRef{WorkflowID: running.WorkflowID}); err == nil && run.Open() {
			found = append(found, run.Run)
		}
	}
	return found
}

// runOf reads a run from what describe and list have in common.
func (r Runs) runOf(info *workflowpb.WorkflowExecutionInfo) Run {
	run := Run{
		RunRef: RunRef{
			WorkflowID: info.GetExecution().GetWorkflowId(),
			RunID:      info.GetExecution().GetRunId(),
		},
		Status: RunStatus(info.GetStatus().String()),
	}
	if info.GetStartTime() != nil {
		run.Started = info.GetStartTime().AsTime()
	}
	if info.GetCloseTime() != nil && !run.Open() {
		run.Ended = info.GetCloseTime().AsTime()
	}
	attributes := info.GetSearchAttributes()
	run.Outcome = contract.Outcome(r.client.keyword(attributes, contract.SearchAttributeOutcome))
	if run.Kind = KindGroup; info.GetType().GetName() == contract.DAGWorkflow {
		run.Kind = KindDAG
		run.DAG, _, _ = contract.DAGOfWorkflow(run.WorkflowID)
		return run
	}
	run.JobType = cmp.Or(r.client.keyword(attributes, contract.SearchAttributeJobType), JobTypeOfRun(run.WorkflowID))
	if name, submission, adHoc := contract.AdHocOf(run.WorkflowID); adHoc && name == run.JobType {
		run.AdHoc = submission
	}
	run.DryRun = strings.HasPrefix(run.WorkflowID, contract.DryRunWorkflowID(run.JobType, ""))
	return run
}

// keyword reads a search attribute of type Keyword; empty when it is not set.
func (c *Client) keyword(attributes *commonpb.SearchAttributes, name string) string {
	payload := attributes.GetIndexedFields()[name]
	if payload == nil {
		return ""
	}
	var value string
	if err := DataConverter().FromPayload(payload, &value); err != nil {
		c.logger.Warn("unreadable search attribute", "name", name, "error", err)
		return ""
	}
	return value
}

// Cancel asks the run to stop: running jobs are canceled, the rest never
// starts, and what was done is reported. It returns when the server has taken
// the request, not when the run has ended. Canceling a closed run is an error.
//
// With a reason it is the signal cancel-group, without one the same
// cancellation that the Web UI's button sends.
func (r Runs) Cancel(ctx context.Context, ref RunRef, reason string) error {
	if ref.Kind() == KindDAG {
		return r.client.DAGs().Cancel(ctx, ref, reason)
	}
	described, err := r.describe(ctx, ref)
	if err != nil {
		return err
	}
	if !described.Open() {
		return fmt.Errorf("run %s has %w (%s): there is nothing to cancel", ref.WorkflowID, ErrAlreadyEnded, described.endedAs())
	}
	if reason != "" {
		err = r.client.temporal.SignalWorkflow(ctx, ref.WorkflowID, ref.RunID, contract.SignalCancelGroup, contract.CancelGroupInput{Reason: reason})
	} else {
		err = r.client.temporal.CancelWorkflow(ctx, ref.WorkflowID, ref.RunID)
	}
	return runEndedMeanwhile(ref, err)
}

// Pause keeps an open run from starting jobs until ResumeRun. What runs goes
// on; paused time does not count against max_runtime. Pausing what is paused
// replaces the note.
func (r Runs) Pause(ctx context.Context, ref RunRef, note string) error {
	if ref.Kind() == KindDAG {
		return r.client.DAGs().Pause(ctx, ref, note)
	}
	return r.signal(ctx, ref, contract.SignalPause, contract.PauseInput{Note: note, By: r.client.operator.actor})
}

// Resume ends a pause; without one it changes nothing.
func (r Runs) Resume(ctx context.Context, ref RunRef) error {
	if ref.Kind() == KindDAG {
		return r.client.DAGs().Resume(ctx, ref)
	}
	return r.signal(ctx, ref, contract.SignalResume, nil)
}

// signal tells an open run something that it cannot refuse.
func (r Runs) signal(ctx context.Context, ref RunRef, name string, argument any) error {
	described, err := r.describe(ctx, ref)
	if err != nil {
		return err
	}
	if !described.Open() {
		return fmt.Errorf("run %s has %w (%s)", ref.WorkflowID, ErrAlreadyEnded, described.endedAs())
	}
	// Without the run id, so that the message follows a continue-as-new.
	return runEndedMeanwhile(ref, r.client.temporal.SignalWorkflow(ctx, ref.WorkflowID, "", name, argument))
}

// runEndedMeanwhile words what the server says about a run that ended between two
// requests: it was there a moment ago.
func runEndedMeanwhile(ref RunRef, err error) error {
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return fmt.Errorf("run %s has %w", ref.WorkflowID, ErrAlreadyEnded)
	}
	if err != nil {
		return runError(ref, err)
	}
	return nil
}

func (r Run) endedAs() string {
	return string(cmp.Or(r.Outcome, contract.Outcome(strings.ToLower(string(r.Status)))))
}

// ErrAlreadyEnded is returned for a request that only an open run or job takes.
var ErrAlreadyEnded = errors.New("already ended")
