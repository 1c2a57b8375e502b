package starter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

// Runs is the client for runs of both kinds and their items.
type Runs struct{ client *Client }

// Runs returns the client for runs of both kinds and their items.
func (c *Client) Runs() Runs { return Runs{c} }

// RunStatus is the Temporal status of a run's workflow.
type RunStatus string

// StatusRunning is the status of an open workflow. All others except StatusPaused are closed.
const StatusRunning RunStatus = "Running"

// Kind is the kind of a run.
type Kind string

const (
	// KindGroup is a run of a job type, with detected or submitted jobs.
	KindGroup Kind = "group"
	// KindDAG is a run of a DAG, with tasks that depend on each other.
	KindDAG Kind = "dag"
)

// Kind returns the kind of run of this workflow id.
func (r RunRef) Kind() Kind {
	_, _, standalone := contract.DAGOfWorkflow(r.WorkflowID)
	group, _ := strings.CutPrefix(r.WorkflowID, groupPrefix)
	if standalone || group != r.WorkflowID && strings.Contains(group, "/") { // The DAG of a job.
		return KindDAG
	}
	return KindGroup
}

// Run is one run of a job type or of a DAG, as listed.
type Run struct {
	RunRef
	Kind Kind `json:"kind" enum:"group,dag"`
	// JobType is empty for a run of a DAG, DAG for a run of a job type.
	JobType string    `json:"job_type,omitempty"`
	DAG     string    `json:"dag,omitempty"`
	Status  RunStatus `json:"status"`
	// Standing is the state as one word, with its cause. Lists without counts have no cause.
	Standing explain.RunStanding `json:"standing"`
	// Outcome is empty while the run is open, and after a termination.
	Outcome contract.Outcome `json:"outcome,omitempty"`
	DryRun  bool             `json:"dry_run,omitempty"`
	// Submission that made the run; empty for other runs.
	AdHoc string `json:"ad_hoc,omitempty"`
	// Workflow id of the run whose failed items this run executes again.
	Resumes string    `json:"resumes,omitempty"`
	Started time.Time `json:"started_at,omitzero"`
	Ended   time.Time `json:"ended_at,omitzero"`
	// Counts and Progress are nil without an answer, and in lists without counts.
	Counts   Counts    `json:"counts,omitempty"`
	Progress *Progress `json:"progress,omitempty"`
	// TopFailure is the most frequent failure of its items; nil in lists without counts, and for an open group.
	TopFailure *explain.Failure `json:"top_failure,omitempty"`
	// Comparison with earlier runs, for counted runs of the Schedule that have begun.
	Pace *contract.Pace `json:"pace,omitempty"`
}

// Counts are the items of a run by state. For a group see [contract.GroupCounts].
type Counts map[string]int

// Progress adds up the items of a run.
type Progress struct {
	// Total counts all items so far, Ended those in a final state.
	Total   int `json:"total"`
	Ended   int `json:"ended"`
	Running int `json:"running"`
	// Failed counts failed and stale items. A retry executes them again.
	Failed int `json:"failed"`
	// HeldBack counts proposals that the retry budget holds back.
	HeldBack int `json:"held_back,omitempty"`
}

// Open reports whether the run has not ended.
func (r Run) Open() bool { return r.Status.open() }

// Standalone reports whether no other run has started this run of a DAG.
func (r Run) Standalone() bool {
	_, unique, dag := contract.DAGOfWorkflow(r.WorkflowID)
	return dag && !strings.Contains(unique, "/")
}

// WithStanding adds the standing derived from the status and the outcome alone.
func (r Run) WithStanding() Run { return Snapshot{Run: r}.stand().Run }

// Name returns the job type or the DAG of the run.
func (r Run) Name() string { return cmp.Or(r.JobType, r.DAG) }

// List lists runs, newest first. Visibility may lag by a second and must not be polled. For one job type List adds
// the running group from the Schedule, which does not lag.
func (r Runs) List(ctx context.Context, filter RunFilter) ([]Run, error) {
	filter.Limit = cmp.Or(max(filter.Limit, 0), DefaultRunLimit)
	query, err := filter.query()
	if err != nil {
		return nil, err
	}
	found, err := r.visible(ctx, query, filter)
	if err != nil {
		return nil, err
	}
	if filter.hasScheduled() {
		found = r.addScheduled(ctx, filter, found)
	}
	slices.SortStableFunc(found, newestFirst)
	found = found[:min(len(found), filter.Limit)]
	if filter.Counts {
		r.AddCounts(ctx, found)
	}
	return found, nil
}

// countParallel bounds the runs queried at the same time.
const countParallel = 16

// countWithin bounds the wait of a list for counts; the list is useful without them.
const countWithin = 3 * time.Second

// AddCounts adds [Run.Counts], and the start of the first workflow run. After one query that finds the control plane down, it
// queries no other open run.
func (r Runs) AddCounts(ctx context.Context, runs []Run) {
	var (
		asking errgroup.Group
		down   atomic.Bool
	)
	asking.SetLimit(countParallel)
	limited, cancel := context.WithTimeout(ctx, countWithin)
	defer cancel()
	for i := range runs {
		asking.Go(func() error {
			if runs[i].Open() && down.Load() {
				return nil
			}
			snapshot, err := r.Show(limited, runs[i].RunRef)
			if err == nil {
				runs[i].Started, runs[i].Counts, runs[i].Progress, runs[i].Pace = snapshot.Started, snapshot.Counts, snapshot.Progress, snapshot.Pace
				runs[i].Standing = snapshot.Standing
				if failures, _ := snapshot.Failures(); len(failures) > 0 {
					runs[i].TopFailure = &failures[0]
				}
			}
			if _, isDown := errors.AsType[*ControlPlaneDownError](snapshot.silence); isDown {
				down.Store(true)
			}
			return nil
		})
	}
	_ = asking.Wait() // A run without an answer has no counts.
}

// Named lists the runs with these workflow ids that visibility has, in no order.
func (r Runs) Named(ctx context.Context, ids []string) ([]Run, error) {
	var found []Run
	for chunk := range slices.Chunk(ids, namedAtOnce) {
		quoted := make([]string, 0, len(chunk))
		for _, id := range chunk {
			if !strings.Contains(id, "'") { // Ids become part of the query; no id of ours contains a quote.
				quoted = append(quoted, "'"+id+"'")
			}
		}
		query := fmt.Sprintf("ExecutionStatus != 'ContinuedAsNew' AND WorkflowId IN (%s)", strings.Join(quoted, ", "))
		runs, err := r.visible(ctx, query, RunFilter{Limit: 2 * namedAtOnce, DryRuns: true, SubDAGs: true})
		if err != nil {
			return found, err
		}
		found = append(found, runs...)
	}
	return found, nil
}

// namedAtOnce is the number of ids in one query of visibility.
const namedAtOnce = 250

// visible lists the newest runs up to the limit, and others. The server lists open runs first, by their start, and then
// the others by their end.
func (r Runs) visible(ctx context.Context, query string, filter RunFilter) ([]Run, error) {
	var found []Run
	var token []byte
	var last Run
	known, closedOnly := map[RunRef]bool{}, false
	for size := min(filter.Limit, maxVisible) + 10; ; size = min(2*size, maxVisible) {
		page, err := r.client.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace:     r.client.namespace,
			PageSize:      int32(min(size, maxVisible)), //nolint:gosec // bounded right here
			NextPageToken: token,
			Query:         query,
		})
		if err != nil {
			return nil, fmt.Errorf("list runs: %w", rpc.Advised(err))
		}
		for _, execution := range page.GetExecutions() {
			if last = r.runOf(execution); filter.keeps(last) && !known[last.RunRef] { // It may end between two pages.
				known[last.RunRef], found = true, append(found, last)
			}
		}
		token = page.GetNextPageToken()
		if len(token) == 0 || filter.newest(found, last) {
			return found, nil
		}
		if !closedOnly && last.Open() && len(found) >= filter.Limit {
			closedOnly, query, token = true, query+" AND CloseTime IS NOT NULL", nil // The other open runs are older.
		}
	}
}

// maxVisible is the most runs on one page of visibility.
const maxVisible = 1000

// newest reports whether no run after the last one read can be newer than the first ones of found, up to the limit.
func (f RunFilter) newest(found []Run, last Run) bool {
	if len(found) < f.Limit || last.Open() {
		return f.Running && len(found) >= f.Limit // Open runs are in order.
	}
	slices.SortStableFunc(found, newestFirst)
	return !last.Ended.After(found[f.Limit-1].Started)
}

func newestFirst(a, b Run) int { return b.Started.Compare(a.Started) }

func (f RunFilter) keeps(run Run) bool {
	if run.Kind == KindDAG {
		if f.JobType != "" && NameOfRun(run.WorkflowID) != f.JobType {
			return false
		}
		return f.SubDAGs || run.Standalone()
	}
	return f.DryRuns || !run.DryRun
}

// addScheduled adds runs that the Schedule has started and visibility lacks. The list is correct without them.
func (r Runs) addScheduled(ctx context.Context, filter RunFilter, found []Run) []Run {
	schedule, err := r.client.DescribeSchedule(ctx, filter.JobType)
	if err != nil {
		return found
	}
	for _, running := range RefsOf(schedule.GetInfo().GetRunningWorkflows()) {
		known := slices.ContainsFunc(found, func(run Run) bool { return run.WorkflowID == running.WorkflowID })
		if known {
			continue
		}
		if run, err := r.Describe(ctx, RunRef{WorkflowID: running.WorkflowID}); err == nil && run.Open() && !run.Started.Before(filter.Since) {
			found = append(found, run.Run)
		}
	}
	return found
}

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
	run.Resumes = ResumesOf(info)
	attributes := info.GetSearchAttributes()
	run.Outcome = contract.Outcome(rpc.Keyword(attributes, contract.SearchAttributeOutcome))
	if run.Outcome == "" && info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		run.Outcome = contract.OutcomeCompleted
	}
	if run.Kind = KindGroup; info.GetType().GetName() == contract.DAGWorkflow {
		run.Kind = KindDAG
		run.DAG, _, _ = contract.DAGOfWorkflow(run.WorkflowID)
		return run.WithStanding()
	}
	run.JobType = cmp.Or(rpc.Keyword(attributes, contract.SearchAttributeJobType), JobTypeOfRun(run.WorkflowID))
	if name, submission, adHoc := contract.AdHocOf(run.WorkflowID); adHoc && name == run.JobType {
		run.AdHoc = submission
	}
	run.DryRun = strings.HasPrefix(run.WorkflowID, contract.DryRunWorkflowID(run.JobType, ""))
	return run.WithStanding()
}

// ResumesOf returns the workflow id of the run that this run resumes, or "".
func ResumesOf(info *workflowpb.WorkflowExecutionInfo) (resumes string) {
	if payload := info.GetMemo().GetFields()[contract.MemoResumes]; payload != nil {
		_ = DataConverter().FromPayload(payload, &resumes) // An unreadable memo counts as none.
	}
	return resumes
}

// Cancel sends the run the request to end. In a DAG, tasks with the rule always still run; a second request cancels
// them too. Cancel returns when the run has read the request. A run that ends otherwise gives [ErrAlreadyEnded]. A run
// that does not react gives a [*StuckWorkflowError] or [*PausedWorkflowError].
func (r Runs) Cancel(ctx context.Context, ref RunRef, reason string) error {
	return r.signal(ctx, ref, ": there is nothing to cancel", contract.SignalCancelRun, contract.CancelRunInput{Reason: reason, By: r.client.operator.actor})
}

// Pause stops an open run from starting items until Resume. Paused time does not count toward a group's max_runtime,
// but toward a DAG's deadline. A run that ends all the same gives [ErrAlreadyEnded].
func (r Runs) Pause(ctx context.Context, ref RunRef, note string) error {
	return r.signal(ctx, ref, "", contract.SignalPause, contract.PauseInput{Note: note, By: r.client.operator.actor})
}

// Resume ends a pause. An unpaused run does not change.
func (r Runs) Resume(ctx context.Context, ref RunRef) error {
	return r.signal(ctx, ref, "", contract.SignalResume, contract.PauseInput{By: r.client.operator.actor})
}

func (r Runs) opened(ctx context.Context, ref RunRef, advice string) (Snapshot, error) {
	described, err := r.Describe(ctx, ref)
	if err == nil && !described.Open() {
		err = described.alreadyEnded(advice)
	}
	return described, err
}

func (r Runs) signal(ctx context.Context, ref RunRef, advice, name string, argument any) error {
	before, err := r.opened(ctx, ref, advice)
	if err != nil {
		return err
	}
	// Without the run id, so that the message follows a continue-as-new.
	err = r.client.temporal.SignalWorkflow(ctx, ref.WorkflowID, "", name, argument)
	if err := runEndedMeanwhile(ref, err); err != nil {
		return err
	}
	read, err := r.reacted(ctx, ref)
	if err != nil || !read || name == contract.SignalResume { // A resumed run may end at once.
		return err
	}
	return r.missed(ctx, before.RunRef, advice, name == contract.SignalCancelRun)
}

func (r Run) alreadyEnded(advice string) error {
	return fmt.Errorf("run %s has %w (%s)%s", r.WorkflowID, ErrAlreadyEnded, r.EndedAs(), advice)
}

func runEndedMeanwhile(ref RunRef, err error) error {
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone || errors.Is(err, ErrNotFound) {
		return fmt.Errorf("run %s has %w", ref.WorkflowID, ErrAlreadyEnded)
	}
	if err != nil {
		return runError(ref, err)
	}
	return nil
}

// EndedAs returns the outcome of a closed run, or its Temporal status without one.
func (r Run) EndedAs() string {
	return string(cmp.Or(r.Outcome, contract.Outcome(strings.ToLower(string(r.Status)))))
}

// ErrAlreadyEnded is returned for a request that requires an open run or job.
var ErrAlreadyEnded = errors.New("already ended")
