package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/dispatch"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/workflows/entity"
	"github.com/roundsman/roundsman/workflows/recorder"
)

// groupRun carries out what the core of one group decides. Everything happens
// in one coroutine: wait until anything is ready, tell the core, do what it
// says. A Selector would cost twice as much per event.
type groupRun struct {
	// root is the workflow's own context, ctx one that its cancellation does not
	// reach, so that a canceled group can end its jobs properly.
	root workflow.Context
	ctx  workflow.Context

	in        contract.JobGroupInput
	record    contract.RunRecord
	core      *dispatch.Group
	startedAt time.Time
	runs      int
	backlog   backlog[dispatch.Decision]
	end       *dispatch.End

	messages groupMessages
	attempts []attempt
	detect   *attempt
	probes   []probe
	watching workflow.Future
	// renewAt is when the subscription to the fleet is repeated; zero without one.
	renewAt time.Time
	timers  entity.Timers
	// seen is the newest view of the fleet.
	seen int64
	// link is the way to admission, lane the group's turn, fenceAsks counts how
	// often more fences were asked for.
	link      *admissionLink
	trail     *recorder.Recorder
	lane      laneTurn
	fenceAsks int
	// window is what is known of the maintenance windows.
	window windowState
	// away is set while the group waits for its next window, turns counts how often
	// it has left. claims are the keys that were asked for last.
	away   *awayState
	turns  int
	claims claimedBy
	// touched: an update handler changed the core.
	touched bool
	// told: the core knows that the workflow was canceled.
	told bool
}

// attempt is a running activity of a job, or the running detection.
type attempt struct {
	job, n int
	// worker and instance are where it was sent.
	worker, instance string
	future           workflow.Future
	cancel           workflow.CancelFunc
}

type probe struct {
	in     contract.ProbeWorkerInput
	future workflow.Future
}

func newGroupRun(ctx workflow.Context, in contract.JobGroupInput) (*groupRun, error) {
	detached, _ := workflow.NewDisconnectedContext(ctx)
	r := &groupRun{root: ctx, ctx: detached, in: in, trail: groupTrail(detached, in.Spec), link: newAdmissionLink(detached, contract.AdmissionRequest{
		JobType: in.Spec.Name, Budget: in.Spec.RetryBudget, Grace: in.Spec.Policy.HeartbeatTimeout, DeclaredAt: workflow.GetInfo(ctx).WorkflowStartTime,
	})}
	return r, r.listen()
}

// step tells the core one event and carries out what it decides.
func (r *groupRun) step(event dispatch.Event) {
	now := workflow.Now(r.ctx)
	info := workflow.GetInfo(r.ctx)
	r.core.Observe(now, info.GetCurrentHistoryLength(), info.GetCurrentHistorySize(), r.backlog.bytes)
	for _, decision := range r.core.Next(now, event) {
		if r.backlog.admits(r.ctx, decision, sizeOf(decision)) {
			r.carryOut(decision)
		}
	}
	r.auditNotes()
}

// catchUp does what did not fit into the workflow tasks before.
func (r *groupRun) catchUp() {
	for {
		decision, ok := r.backlog.next(r.ctx, sizeOf)
		if !ok {
			return
		}
		r.carryOut(decision)
	}
}

// sizeOf estimates what a decision sends.
func sizeOf(decision dispatch.Decision) int {
	if start, ok := decision.(dispatch.StartJob); ok {
		return start.Bytes
	}
	return 0
}

func (r *groupRun) carryOut(decision dispatch.Decision) {
	switch d := decision.(type) {
	case dispatch.StartJob:
		r.startJob(d)
	case dispatch.StartDetection:
		r.startDetection(d)
	case dispatch.CancelDetection:
		if r.detect != nil {
			r.detect.cancel()
		}
	case dispatch.CancelJob:
		if a := r.find(d.Job, d.Attempt); a != nil {
			a.cancel()
		}
	case dispatch.LoseJob:
		r.loseJob(d)
	case dispatch.ForgetJob:
		r.forget(d.Job, d.Attempt)
	case dispatch.ProbeWorker:
		in := contract.ProbeWorkerInput{ID: d.ID, Instance: d.Instance}
		r.probes = append(r.probes, probe{in, callProbeWorker(r.ctx, in)})
	case dispatch.WatchFleet:
		r.watch()
	case dispatch.End:
		r.end = &d
	default:
		r.carryOutAdmission(decision)
	}
}

func (r *groupRun) startDetection(d dispatch.StartDetection) {
	ctx, cancel := workflow.WithCancel(r.ctx)
	policy, info := r.core.Policy(), workflow.GetInfo(r.ctx)
	future := callDetect(ctx, detectCall{
		queue: contract.WorkerDetectQueue(d.ID, d.Instance), timeout: d.Timeout, heartbeatTimeout: policy.HeartbeatTimeout.Std(),
		input: contract.DetectActivityInput{
			Handler: r.in.Spec.Handler, BatchBy: r.batchBy(), Liveness: policy.Liveness, StallTimeout: policy.StallTimeout, WorkflowID: info.WorkflowExecution.ID, RunID: info.WorkflowExecution.RunID, Attempt: d.Attempt,
			Input: jobtype.DetectInput{
				JobType: r.in.Spec.Name, Cluster: r.in.Spec.Cluster, Params: r.in.Spec.Params, Settings: r.in.Spec.Detect,
				LastSuccess: r.record.LastSuccess, Sequence: r.record.Sequence + 1, MaxResults: policy.MaxJobsPerDetection,
				DryRun: r.in.DryRun, WorkerID: d.ID,
			},
		},
	})
	r.detect = &attempt{n: d.Attempt, worker: d.ID, instance: d.Instance, future: future, cancel: cancel}
}

func (r *groupRun) startJob(d dispatch.StartJob) {
	if d.Proposal.DAG != "" {
		r.startDAG(d)
		return
	}
	ctx, cancel := workflow.WithCancel(r.ctx)
	policy, info, spec := r.core.Policy(), workflow.GetInfo(r.ctx), r.in.Spec
	call := executeCall{
		queue: contract.WorkerQueue(d.ID, d.Instance), takeTimeout: takeTimeout, heartbeatTimeout: policy.HeartbeatTimeout.Std(),
		input: contract.ExecuteInput{
			Handler: spec.Handler,
			Job: jobtype.Job{
				ID: contract.JobID(d.Job), GroupID: info.WorkflowExecution.ID, JobType: spec.Name,
				DedupeKey: d.Proposal.DedupeKey, Summary: d.Proposal.Summary, Detail: d.Proposal.Detail, Labels: d.Proposal.Labels,
				Params: spec.Params, Batch: d.Batch, Settings: spec.Execute, Cluster: spec.Cluster,
				Attempt: d.Attempt, Fence: d.Fence, Checkpoint: d.Checkpoint,
			},
			ProposalParams: ownParams(d), RunID: info.WorkflowExecution.RunID,
			Timeout: jobtype.Duration(d.Timeout), Liveness: policy.Liveness,
			StallTimeout: policy.StallTimeout, ProgressTimeout: policy.ProgressTimeout, Interactive: policy.Interactive, StopAfter: policy.StopAfter,
		},
	}
	if d.ID == "" {
		call.queue, call.takeTimeout = contract.SharedQueue(spec.Name), policy.ExecutionTimeout.Std()
	}
	r.attempts = append(r.attempts, attempt{
		job: d.Job, n: d.Attempt, worker: d.ID, instance: d.Instance, future: callExecute(ctx, call), cancel: cancel,
	})
}

// startDAG runs a job whose proposal carries a DAG as a child workflow. It has no
// worker: its tasks are placed by themselves, on the proposal's node or labels
// where they name none of their own.
func (r *groupRun) startDAG(d dispatch.StartJob) {
	ctx, cancel := workflow.WithCancel(r.ctx)
	id := contract.JobID(d.Job)
	future := callSubDAG(ctx, contract.SubDAGWorkflowID(workflow.GetInfo(r.ctx).WorkflowExecution.ID, id), d.Proposal.Summary,
		contract.DAGInput{
			Source: d.Proposal.DAG, SourceName: "dag of " + id, Deadline: jobtype.Duration(d.Timeout), By: r.in.Spec.Name,
			Resources: r.in.Spec.Resources, DeclaredAt: r.link.base.DeclaredAt, Node: d.Proposal.Node, Labels: d.Proposal.Labels,
		}, nil)
	r.attempts = append(r.attempts, attempt{job: d.Job, n: d.Attempt, future: future, cancel: cancel})
}

// loseJob ends an attempt in its worker's stead. Its activity then tells the
// group, so there is nothing to wait for here; if this fails, the heartbeat
// timeout does the same later.
func (r *groupRun) loseJob(d dispatch.LoseJob) {
	if a := r.find(d.Job, d.Attempt); a != nil {
		info := workflow.GetInfo(r.ctx).WorkflowExecution
		callGiveUp(r.ctx, contract.GiveUpInput{
			WorkflowID: info.ID, RunID: info.RunID, ActivityID: contract.AttemptID(contract.JobID(d.Job), d.Attempt),
			Worker: a.worker, Reason: d.Reason,
		})
	}
}

func (r *groupRun) find(job, n int) *attempt {
	for i := range r.attempts {
		if r.attempts[i].job == job && r.attempts[i].n == n {
			return &r.attempts[i]
		}
	}
	return nil
}

func (r *groupRun) forget(job, n int) {
	for i := range r.attempts {
		if r.attempts[i].job == job && r.attempts[i].n == n {
			r.attempts = append(r.attempts[:i], r.attempts[i+1:]...)
			return
		}
	}
}

// arm makes sure that the core is woken in time.
func (r *groupRun) arm() {
	wake := entity.Earlier(r.core.NextWake(), r.renewAt)
	if r.link.repeats() {
		wake = entity.Earlier(wake, r.link.repeatAt)
	}
	wake = entity.Earlier(wake, r.awayWake())
	if !r.backlog.empty() {
		wake = workflow.Now(r.ctx)
	}
	r.timers.SetBy(r.ctx, entity.Earlier(wake, r.trail.Wake()))
}

// renewal is how often a group repeats its subscription: a registry that was
// terminated comes back without any. Repeating it changes nothing otherwise.
const renewal = 5 * time.Minute

// watch subscribes to changes of the fleet, or renews the subscription.
func (r *groupRun) watch() {
	r.renewAt = workflow.Now(r.ctx).Add(renewal)
	r.watching = callEnsureFleet(r.ctx, contract.EnsureFleetInput{Watch: &contract.WatchFleetInput{
		WorkflowID: workflow.GetInfo(r.ctx).WorkflowExecution.ID, Handler: r.in.Spec.Handler, JobType: r.in.Spec.Name, Seq: r.seen,
	}})
}

// ready reports whether there is anything to collect.
func (r *groupRun) ready() bool {
	if r.touched || (r.canceled() && !r.told) || r.messages.waiting() || r.link.ready() || r.trail.Ready() || r.windowReady() || r.awayReady() {
		return true
	}
	for i := range r.attempts {
		if r.attempts[i].future.IsReady() {
			return true
		}
	}
	if r.detect != nil && r.detect.future.IsReady() || r.timers.Fired() {
		return true
	}
	for i := range r.probes {
		if r.probes[i].future.IsReady() {
			return true
		}
	}
	return r.watching != nil && r.watching.IsReady()
}
