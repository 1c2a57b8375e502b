package group

import (
	"cmp"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	engine "github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/workflows/callopts"
	"github.com/roundsman/roundsman/workflows/run"
)

// JobGroup is one run of a job type. state continues a group; it is a separate argument because JSON would make its
// bytes a third longer.
//
// With the outcomes `failed` and `timeout` it fails with a [contract.RunFailedError], and after a cancellation it is
// Canceled. Both have the result as a detail, so that Temporal's own status shows the outcome.
func JobGroup(ctx workflow.Context, in contract.JobGroupInput, state []byte) (contract.JobGroupResult, error) {
	r := newRun(ctx, in)
	if err := r.open(state); err != nil {
		return contract.JobGroupResult{}, err
	}
	if err := r.loop.Run(func() bool { return r.end != nil }); err != nil {
		return contract.JobGroupResult{}, err
	}
	return r.finish()
}

type groupRun struct {
	order

	loop   run.Loop
	record contract.RunRecord
	core   *group.Group
	runs   int
	end    *group.End

	messages                      messages
	detecting                     []*detection
	preparing, windows, successes *callopts.Short
	storing                       workflow.Future
	commonID                      string
	// startedAt is the start of the group, zero until it is read.
	startedAt time.Time
	// claims are those of the last request for the whole group, which the answer counts.
	claims  []group.Claim
	reading *reading
}

// order is the input of the run. Its methods derive the kind of the run from it.
type order struct {
	ctx workflow.Context
	in  contract.JobGroupInput
}

type detection struct {
	attempt int
	worker  string
	timeout time.Duration
	future  workflow.Future
	cancel  workflow.CancelFunc
}

func newRun(ctx workflow.Context, in contract.JobGroupInput) *groupRun {
	runner := run.New(ctx, run.Options{
		JobType: in.Spec.Name,
		Watch:   contract.WatchFleetInput{Handler: in.Spec.Handler, JobType: in.Spec.Name},
		Request: contract.AdmissionRequest{
			JobType: in.Spec.Name, Budget: in.Spec.RetryBudget, Grace: in.Spec.Policy.HeartbeatTimeout,
			DeclaredAt: workflow.GetInfo(ctx).WorkflowStartTime,
		},
		Calls: true, Results: true,
	})
	loop := run.Loop{Runner: runner, Workflow: contract.JobGroupWorkflow, Noun: "run", CancelAction: "job.cancel", Resources: in.Spec.Resources, DryRun: in.DryRun}
	r := &groupRun{order: order{ctx: runner.Context(), in: in}, loop: loop}
	r.loop.Keys = func() run.Keys { return heldKeys(in.Spec.Name, r.core) }
	r.loop.Late = r.collectLateCalendars
	if common := commonOf(in.Spec); common.Bytes() >= contract.MinCommonBytes {
		r.commonID = common.ID()
	}
	return r
}

func (r *groupRun) open(state []byte) error {
	var first source.Event = engine.Tick{}
	if err := r.listen(); err != nil {
		return err
	}
	if carried := r.in.State; carried != nil && !r.in.Submission.Paged() {
		if err := r.restore(*carried, state); err != nil {
			return err
		}
	} else {
		r.readRecord()
		r.core = group.New(r.config(), r.loop.Now())
		if r.adHoc() {
			s := r.in.Submission
			first = group.Submitted{Proposals: s.Proposals, BatchKeys: s.BatchKeys, Pages: s.Pages, Duplicates: s.Duplicates}
		}
	}
	r.loop.Open(r, r.core)
	r.loop.Steer() // A group that is paused from its beginning does not detect.
	r.loop.Carry(r.core.Next(r.loop.Now(), first))
	return nil
}

// readRecord reads the newest record that the Schedule passes on. If there is none, Prepare finds the data.
func (r *groupRun) readRecord() {
	var completed, failed contract.JobGroupResult
	if workflow.HasLastCompletionResult(r.ctx) {
		if err := workflow.GetLastCompletionResult(r.ctx, &completed); err != nil {
			workflow.GetLogger(r.ctx).Warn("The record of the last runs cannot be read.", "error", err)
		}
	}
	r.record = completed.Record
	if contract.ResultOfFailure(workflow.GetLastError(r.ctx), &failed) && failed.Record.Sequence > r.record.Sequence {
		r.record = failed.Record
	}
}

func (r *groupRun) config() group.Config {
	spec := r.in.Spec
	config := group.Config{
		JobType: spec.Name, Handler: spec.Handler, Policy: spec.Policy, DryRun: r.in.DryRun, Submitted: r.adHoc(),
		StartBytes: len(spec.Params) + len(spec.Execute) + len(spec.Cluster), LastDetector: r.record.LastDetector, AvoidDetector: r.record.AvoidDetector,
		Sequence: r.record.Sequence + 1, RollEvents: r.in.RollEvents, Window: r.in.OpenJobs, Claims: !r.in.DryRun, Budget: spec.RetryBudget != nil, NamesKeys: spec.RetryBudget != nil && spec.RetryBudget.PerKey != nil,
		Turn: r.needsTurn(), Windows: r.hasWindows(), MaxWait: maxWait(spec).Std(), ClosedUntil: r.record.ClosedUntil,
		Took: tookOf(r.record), Carried: carriedOf(r.record),
	}
	if !r.adHoc() {
		config.DetectEvery, config.EachWorker, config.Labels = spec.DetectOn == contract.DetectOnEvery, spec.EachWorker, spec.Labels
	}
	if !r.apart() && !r.ignoresWindow() {
		config.After, config.LastSuccess, config.Rest = spec.After, r.record.LastSuccess, spec.RunIfNotSucceededFor.Std()
		config.Due = r.due(time.Time{})
	}
	config.Resources = spec.JobResources
	if spec.DAG != nil {
		config.DAG = spec.DAG.Name
	}
	if r.hasLane() {
		config.Lane = spec.Lane
	}
	if spec.Batch != nil {
		config.BatchSize = spec.Batch.MaxSize
	}
	return config
}

// maxWait bounds the wait for the lane or window: until the group is due again. 0 is unknown.
func maxWait(spec contract.JobTypeSpec) jobtype.Duration {
	if spec.Interval > 0 {
		return spec.Interval
	}
	return max(spec.Policy.CatchupWindow, 0)
}

func (r *order) adHoc() bool { return r.in.Submission != nil }

// apart reports whether the run is outside the Schedule, so it does not read or extend its record.
func (r *order) apart() bool { return r.adHoc() || r.in.OwnParams }

// hasLane reports whether the group must take a turn. Dry runs change nothing and wait for no other group.
func (r *order) hasLane() bool {
	return r.in.Spec.Lane != "" && !r.in.Spec.LaneShared && !r.in.DryRun
}

func (r *order) needsTurn() bool {
	budget := r.in.Spec.RetryBudget
	return !r.in.DryRun && (r.hasLane() || budget != nil && budget.PerType != nil)
}

func (r *order) ignoresWindow() bool {
	return r.in.DryRun || r.in.IgnoresWindow(workflow.GetInfo(r.ctx).WorkflowExecution.ID)
}

func (r *order) hasWindows() bool {
	return !r.ignoresWindow() && !(r.in.Spec.Calendar.Empty() && r.in.Spec.LaneCalendar.Empty())
}

func (r *groupRun) restore(carried contract.JobGroupState, state []byte) error {
	whole, err := r.loop.Load(state, carried.StatePages)
	if err != nil {
		return temporal.NewNonRetryableApplicationError("the group cannot continue after continue-as-new", "BadState", err)
	}
	core, err := group.Restore(whole, r.loop.Now())
	if err != nil {
		return temporal.NewNonRetryableApplicationError("the group cannot continue after continue-as-new", "BadState", err)
	}
	r.core, r.record, r.runs = core, carried.Record, carried.Runs
	r.loop.SetSeen(carried.WorkersSeq)
	r.loop.Admission.Restore(carried.Admission)
	r.loop.Admission.SetGrace(core.Policy().HeartbeatTimeout)
	r.loop.Audit.Restore(carried.Audit)
	if core.Phase() == group.PhaseClaiming || core.ClaimingLate() {
		r.claims = core.Claims(core.ClaimingLate())
	}
	return nil
}

// Arguments implements [run.Describer].
func (r *groupRun) Arguments(pages contract.StatePages) []any {
	in := r.in.WithoutProposals()
	in.State = &contract.JobGroupState{
		Record: r.record, WorkersSeq: r.loop.Seen(), Runs: r.runs + 1, Admission: r.loop.Admission.State(), Audit: r.loop.Audit.State(), StatePages: pages,
	}
	return []any{in}
}

func (r *groupRun) finish() (contract.JobGroupResult, error) {
	result := r.result()
	if !r.core.Final() {
		r.loop.Admission.ReleaseBySignal()
	}
	if err := r.loop.Close(r.lastEndings()...); err != nil {
		return result, err
	}
	if err := r.reportSuccess(result); err != nil {
		return result, err
	}
	r.storeRest()
	if err := r.loop.SettleLate(); err != nil {
		return result, err
	}
	result.Items = r.core.ItemRecord()
	r.loop.SetOutcome(result.Outcome)
	r.Describe()
	switch result.Outcome {
	case contract.OutcomeCanceled:
		return result, temporal.NewCanceledError(result)
	case contract.OutcomeFailed, contract.OutcomeTimeout:
		return result, contract.RunFailure(failure(result), result)
	case contract.OutcomeCompleted, contract.OutcomePartial, contract.OutcomeSkipped:
	}
	return result, nil
}

func failure(result contract.JobGroupResult) string {
	text := fmt.Sprintf("job group of %s: %s: %s", result.JobType, result.Outcome, result.Reason)
	if len(result.Errors) > 0 {
		text += fmt.Sprintf("; first %s: %s", cmp.Or(result.Errors[0].DedupeKey, result.Errors[0].JobID), result.Errors[0].Message)
	}
	return text
}
