package workflows

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/dispatch"
)

// maxCarryBytes bounds the state that travels by continue-as-new: the server
// refuses inputs over 2 MiB.
const maxCarryBytes = 1536 << 10

// JobGroup is one run of a job type: detect, dispatch, summarise. core is the
// state of the group that continues as new; it is an argument of its own
// because bytes inside a JSON document would grow by a third.
//
// It returns a result for every outcome but `canceled`, which ends the workflow
// as Canceled with the result as its detail. It fails only on a bug.
func JobGroup(ctx workflow.Context, in contract.JobGroupInput, core []byte) (contract.JobGroupResult, error) {
	r, err := newGroupRun(ctx, in)
	if err != nil {
		return contract.JobGroupResult{}, err
	}
	skipped := ""
	if in.State != nil {
		err = r.restore(*in.State, core)
	} else {
		skipped, err = r.prepare()
	}
	switch {
	case err != nil:
		return contract.JobGroupResult{}, err
	case skipped != "":
		return r.skip(skipped)
	}
	for r.end == nil {
		if r.mayContinueAsNew() {
			shed, err := r.shed()
			if err != nil {
				return contract.JobGroupResult{}, err
			}
			if !shed {
				return contract.JobGroupResult{}, r.continueAsNew()
			}
		}
		r.link.flush()
		r.trail.Flush()
		r.arm()
		if err := workflow.Await(r.ctx, r.ready); err != nil {
			return contract.JobGroupResult{}, err
		}
		r.collect()
		r.stepAway()
	}
	return r.finish()
}

// prepare takes the lane's turn, learns what the group must know and begins.
// max_runtime counts from here. It returns why the group is skipped, or "".
func (r *groupRun) prepare() (string, error) {
	if workflow.HasLastCompletionResult(r.ctx) {
		var last contract.JobGroupResult
		if err := workflow.GetLastCompletionResult(r.ctx, &last); err != nil {
			workflow.GetLogger(r.ctx).Warn("The record of the last runs cannot be read and starts anew.", "error", err)
		}
		r.record = last.Record
	}
	if err := r.awaitFirst(); err != nil {
		return "", err
	}
	prepared, skipped, err := r.awaitBegin()
	for err == nil && skipped != "" && r.missedTurn() {
		prepared, skipped, err = r.awaitBegin()
	}
	if err != nil || skipped != "" {
		return skipped, err
	}
	r.record = withMissed(r.record, prepared.Missed)
	r.auditMissed(prepared.Missed)
	r.auditTicks(prepared.Ticks)
	r.begin(prepared)
	return "", nil
}

// awaitBegin waits for the window, the turn, and what must be known of the workers.
func (r *groupRun) awaitBegin() (prepared contract.PrepareResult, skipped string, err error) {
	if skipped, err := r.awaitWindow(); err != nil || skipped != "" {
		return prepared, skipped, err
	}
	r.askLane()
	future := r.lookUp()
	if skipped, err := r.awaitTurn(); err != nil || skipped != "" {
		return prepared, skipped, err
	}
	if workflow.Now(r.ctx).Sub(r.lane.askedAt) > freshFor && future.IsReady() {
		future = r.lookUp()
	}
	if err := workflow.Await(r.ctx, func() bool { return future.IsReady() || r.canceled() }); err != nil {
		return prepared, "", err
	}
	if future.IsReady() {
		if err := future.Get(r.ctx, &prepared); err != nil {
			return prepared, "", fmt.Errorf("prepare the group: %w", err)
		}
	}
	if opens, closed := r.closedUntil(); closed && !r.stopAsked() {
		return prepared, r.closedText(opens), nil
	}
	return prepared, "", nil
}

func (r *groupRun) lookUp() workflow.Future {
	info, record := workflow.GetInfo(r.ctx), r.record
	record.TookMS, record.Checkpoints = nil, nil // The past runs are all that matters there.
	return callPrepare(r.ctx, contract.PrepareInput{
		JobType: r.in.Spec.Name, Handler: r.in.Spec.Handler,
		WorkflowID: info.WorkflowExecution.ID, RunID: info.WorkflowExecution.RunID,
		Record: record, Scheduled: !r.in.DryRun && !r.adHoc(),
	})
}

func (r *groupRun) begin(prepared contract.PrepareResult) {
	r.startedAt = workflow.Now(r.ctx)
	r.auditLane()
	r.core = dispatch.New(dispatch.Config{
		JobType: r.in.Spec.Name, Handler: r.in.Spec.Handler, Policy: r.in.Spec.Policy, DryRun: r.in.DryRun,
		LastDetector: r.record.LastDetector, AvoidDetector: r.record.AvoidDetector, Sequence: r.record.Sequence + 1, RollEvents: r.in.RollEvents,
		Claims: !r.in.DryRun, Fence: r.lane.grant.Fence, Fences: r.lane.grant.Fences, Submitted: r.adHoc(), Budget: r.in.Spec.RetryBudget != nil,
		BatchSize: r.batchSize(), StartBytes: startBytes(r.in.Spec),
		Window: r.coreWindow(), Kept: keptOf(r.record),
	}, r.startedAt)
	r.seen = prepared.WorkersSeq
	r.takeSubmission()
	if r.lane.stopped != "" {
		r.stopType(r.lane.stopped)
		return
	}
	if r.stopAsked() {
		r.collect()
		return
	}
	r.collectSteering() // A group that was paused while it waited does not detect.
	r.step(dispatch.WorkersChanged{Workers: r.workers(prepared.Workers)})
}

// restore takes up the state that the run before left.
func (r *groupRun) restore(state contract.JobGroupState, core []byte) error {
	restored, err := dispatch.Restore(core)
	if err != nil {
		return temporal.NewNonRetryableApplicationError("the group cannot go on after continue-as-new", "BadState", err)
	}
	r.core, r.record, r.seen, r.runs, r.turns = restored, state.Record, state.WorkersSeq, state.Runs, state.Turns
	r.renewAt = workflow.Now(r.ctx).Add(renewal)
	r.startedAt = restored.Status(workflow.Now(r.ctx)).StartedAt
	r.link.restore(state.Admission)
	r.link.base.Grace = max(r.link.base.Grace, restored.Policy().HeartbeatTimeout)
	r.trail.Restore(state.Audit)
	r.step(dispatch.Tick{})
	return nil
}

// mayContinueAsNew: nothing is in flight that would be lost, and nothing that
// came is left unread, since nothing is waited for between here and the end of
// this run. A lost probe is asked again.
func (r *groupRun) mayContinueAsNew() bool {
	return r.backlog.empty() && r.away == nil && r.watching == nil && r.link.idle() && !r.link.dirty && r.trail.Idle() && r.window.asking == nil && r.core.ShouldContinueAsNew()
}

// shed gives pending jobs up that are too large to travel. What they were granted
// is given back first: the next run would not know of it.
func (r *groupRun) shed() (bool, error) {
	shed, decisions, err := r.core.Shed(maxCarryBytes, workflow.Now(r.ctx))
	if err != nil || shed == 0 {
		return false, err
	}
	workflow.GetLogger(r.ctx).Warn("Pending jobs were given up to continue as new.", "jobs", shed)
	for _, decision := range decisions {
		r.carryOut(decision)
	}
	r.step(dispatch.Tick{})
	return true, nil
}

func (r *groupRun) continueAsNew() error {
	core, err := r.core.Snapshot()
	if err != nil {
		return err
	}
	in := r.in.WithoutProposals()
	in.State = &contract.JobGroupState{Record: r.record, WorkersSeq: r.seen, Runs: r.runs + 1, Turns: r.turns, Admission: r.link.state(), Audit: r.trail.State()}
	return workflow.NewContinueAsNewError(r.ctx, contract.JobGroupWorkflow, in, core)
}

// finish summarises.
func (r *groupRun) finish() (contract.JobGroupResult, error) { return r.conclude(r.result()) }

// conclude gives back what the group was granted and writes the result down.
func (r *groupRun) conclude(result contract.JobGroupResult) (contract.JobGroupResult, error) {
	r.trail.Hurry()
	r.trail.Flush()
	if err := r.link.close(r.lastEndings()...); err != nil {
		return result, err
	}
	if err := r.trail.Settle(); err != nil {
		return result, err
	}
	outcome := temporal.NewSearchAttributeKeyKeyword(contract.SearchAttributeOutcome)
	err := workflow.UpsertTypedSearchAttributes(r.ctx, outcome.ValueSet(string(result.Outcome)))
	if err != nil {
		workflow.GetLogger(r.ctx).Error("The outcome cannot be made searchable.", "error", err)
	}
	workflow.SetCurrentDetails(r.ctx, r.details())
	if result.Outcome == contract.OutcomeCanceled {
		return result, temporal.NewCanceledError(result)
	}
	return result, nil
}

// canceled reports whether somebody canceled the workflow.
func (r *groupRun) canceled() bool { return errors.Is(r.root.Err(), workflow.ErrCanceled) }
