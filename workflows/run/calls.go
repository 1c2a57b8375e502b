package run

import (
	"cmp"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/workflows/callopts"
)

// Timeouts of the calls below. Their sources are in ADR 30 and in docs/workers.md.
const (
	// adoptTimeout is [engine.TakeTimeout] after an outage of the server, when workers come back one after the other.
	adoptTimeout = 4 * time.Second
	// adoptGone applies when the server was there: a live worker takes the adoption in milliseconds.
	adoptGone = 250 * time.Millisecond
	// outageMargin is the longest time after an outage in which its timeouts still arrive, beyond the heartbeat timeout.
	outageMargin = 10 * time.Second
	// probeTimeout bounds a probe: three heartbeat intervals of up to 60 s would be too long.
	probeTimeout = 20 * time.Second
	// stopMargin lets the worker's own report arrive first: 12 s for a canceled handler, and time to report.
	stopMargin = 15 * time.Second
	// noopTimeout bounds the time until a killed control plane is detected.
	noopTimeout = 10 * time.Second
)

func callEnsureFleet(ctx workflow.Context, in contract.EnsureFleetInput) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, callopts.ControlOptions("subscribe to changes of the fleet"))
	return workflow.ExecuteActivity(ctx, contract.EnsureFleetActivity, in)
}

func callEnsureAdmission(ctx workflow.Context, in contract.EnsureAdmissionInput) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, callopts.ControlOptions("start admission, which is missing"))
	return workflow.ExecuteActivity(ctx, contract.EnsureAdmissionActivity, in)
}

func callAdmission(ctx workflow.Context, in contract.AdmissionRequest) workflow.Future {
	ctx = workflow.WithLocalActivityOptions(ctx, callopts.InTaskOptions("request of admission"))
	return workflow.ExecuteLocalActivity(ctx, contract.CallAdmissionActivity, in)
}

func callGiveUp(ctx workflow.Context, in contract.GiveUpInput) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, callopts.ControlOptions("abandon "+in.ActivityID+" on "+in.Worker))
	return workflow.ExecuteActivity(ctx, contract.GiveUpActivity, in)
}

func callProbeWorker(ctx workflow.Context, in contract.ProbeWorkerInput) workflow.Future {
	options := callopts.ControlOptions("does " + in.ID + " still beat?")
	options.StartToCloseTimeout = probeTimeout
	ctx = workflow.WithActivityOptions(ctx, options)
	return workflow.ExecuteActivity(ctx, contract.ProbeWorkerActivity, in)
}

func callServerAway(ctx workflow.Context, in contract.ServerAwayInput) workflow.Future {
	ctx = workflow.WithLocalActivityOptions(ctx, callopts.InTaskOptions("was the server away?"))
	return workflow.ExecuteLocalActivity(ctx, contract.ServerAwayActivity, in)
}

type executeCall struct {
	activity         string
	queue, worker    string
	takeTimeout      time.Duration
	heartbeatTimeout time.Duration
	input            contract.ExecuteInput
}

func (c executeCall) summary() string {
	name := jobtype.OneLine(cmp.Or(c.input.Job.DedupeKey, c.input.Job.ID), jobtype.MaxSummaryBytes)
	if c.worker == "" {
		return name
	}
	return name + " on " + c.worker
}

func callExecute(ctx workflow.Context, call executeCall) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID:             call.activity,
		TaskQueue:              call.queue,
		ScheduleToStartTimeout: call.takeTimeout,
		StartToCloseTimeout:    call.input.Timeout.Std() + stopMargin,
		HeartbeatTimeout:       call.heartbeatTimeout,
		WaitForCancellation:    true,
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:                call.summary(),
	})
	return workflow.ExecuteActivity(ctx, contract.ExecuteActivity, call.input)
}

func noopContext(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: contract.ControlQueue, StartToCloseTimeout: noopTimeout,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second},
	})
}

func callNoop(ctx workflow.Context, name string, n int) workflow.Future {
	options := workflow.GetActivityOptions(ctx)
	options.ActivityID = contract.AttemptID(name, n)
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), contract.NoopActivity)
}

func callDAG(ctx workflow.Context, id, summary string, in contract.DAGInput, graph []byte) workflow.Future {
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: id, TaskQueue: contract.ControlQueue,
		// The child ends in order, with its own running tasks.
		WaitForCancellation: true, ParentClosePolicy: enums.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:         summary,
	})
	return workflow.ExecuteChildWorkflow(ctx, contract.DAGWorkflow, in, graph, []byte(nil))
}

// callPutPage stores a page as a local activity, so that its bytes are not in the history.
func callPutPage(ctx workflow.Context, in contract.PageInput, data []byte) workflow.Future {
	ctx = workflow.WithLocalActivityOptions(ctx, callopts.InTaskOptions("store a part of the run"))
	return workflow.ExecuteLocalActivity(ctx, contract.PutPageActivity, in, data)
}

// callNextTask returns in the next workflow task. The server refuses a task that continues as new while an event has
// come, and the whole history is replayed. So the task that waits for calls is not the one that continues. A timer would
// take up to a second.
func callNextTask(ctx workflow.Context) workflow.Future {
	options := workflow.GetActivityOptions(noopContext(ctx))
	options.Summary = "the state is stored"
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), contract.NoopActivity)
}

func callReadPage(ctx workflow.Context, in contract.PageInput) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, callopts.ControlOptions("read a part of the run"))
	return workflow.ExecuteActivity(ctx, contract.ReadPageActivity, in)
}

func callClosePages(ctx workflow.Context, in contract.ClosePagesInput) {
	ctx = workflow.WithActivityOptions(ctx, callopts.ControlOptions("close parts of the run that were read"))
	workflow.ExecuteActivity(ctx, contract.ClosePagesActivity, in)
}

// A run that has ended, or has not begun, needs no signal: its cancellation was requested before.
func callCancelDAG(ctx workflow.Context, id string, in contract.CancelRunInput) {
	workflow.SignalExternalWorkflow(ctx, id, "", contract.SignalCancelRun, in)
}

func callGrantLane(ctx workflow.Context, id string, in contract.LaneGrant) {
	workflow.SignalExternalWorkflow(ctx, id, "", contract.SignalLaneGrant, in)
}
