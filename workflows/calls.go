package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/workflows/calls"
)

// Timeouts of the calls below. Their sources are in ARCHITECTURE §2 and in
// docs/workers.md.
const (
	// takeTimeout is how long a worker may take to draw a job from its own
	// queue before the job goes to another one.
	takeTimeout = 5 * time.Second
	// probeTimeout bounds a probe: three heartbeat intervals of at most 60 s
	// would be too long to be of use, so it gives up after 20 s.
	probeTimeout = 20 * time.Second
	// stopMargin is what the server allows a handler beyond its timeout, so that
	// the worker's own, better explained end arrives first: the 12 s that the
	// worker gives a canceled handler, and time to report.
	stopMargin = 15 * time.Second
)

func callPrepare(ctx workflow.Context, in contract.PrepareInput) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, calls.ControlOptions("look up workers and recent runs"))
	return workflow.ExecuteActivity(ctx, contract.PrepareActivity, in)
}

func callWindows(ctx workflow.Context, in contract.WindowsInput) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, calls.ControlOptions("when is the maintenance window of "+in.JobType+"?"))
	return workflow.ExecuteActivity(ctx, contract.WindowsActivity, in)
}

func callEnsureFleet(ctx workflow.Context, in contract.EnsureFleetInput) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, calls.ControlOptions("subscribe to changes of the fleet"))
	return workflow.ExecuteActivity(ctx, contract.EnsureFleetActivity, in)
}

func callGiveUp(ctx workflow.Context, in contract.GiveUpInput) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, calls.ControlOptions("give up "+in.ActivityID+" on "+in.Worker))
	return workflow.ExecuteActivity(ctx, contract.GiveUpActivity, in)
}

func callProbeWorker(ctx workflow.Context, in contract.ProbeWorkerInput) workflow.Future {
	options := calls.ControlOptions("does " + in.ID + " still beat?")
	options.StartToCloseTimeout = probeTimeout
	ctx = workflow.WithActivityOptions(ctx, options)
	return workflow.ExecuteActivity(ctx, contract.ProbeWorkerActivity, in)
}

// detectCall says where and for how long a detection runs.
type detectCall struct {
	queue            string
	timeout          time.Duration
	heartbeatTimeout time.Duration
	input            contract.DetectActivityInput
}

func callDetect(ctx workflow.Context, call detectCall) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID:             contract.DetectID(call.input.Attempt),
		TaskQueue:              call.queue,
		ScheduleToStartTimeout: takeTimeout,
		StartToCloseTimeout:    call.timeout,
		HeartbeatTimeout:       call.heartbeatTimeout,
		WaitForCancellation:    true,
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:                "detect what " + call.input.Input.JobType + " has to do",
	})
	return workflow.ExecuteActivity(ctx, contract.DetectActivity, call.input)
}

// startBytes is what every attempt of a job type carries beside what it is about.
func startBytes(spec contract.JobTypeSpec) int {
	return len(spec.Params) + len(spec.Execute) + len(spec.Cluster)
}

// executeCall says where and for how long one attempt of a job runs.
type executeCall struct {
	queue            string
	takeTimeout      time.Duration
	heartbeatTimeout time.Duration
	input            contract.ExecuteInput
}

func callExecute(ctx workflow.Context, call executeCall) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID:             contract.AttemptID(call.input.Job.ID, call.input.Job.Attempt),
		TaskQueue:              call.queue,
		ScheduleToStartTimeout: call.takeTimeout,
		StartToCloseTimeout:    call.input.Timeout.Std() + stopMargin,
		HeartbeatTimeout:       call.heartbeatTimeout,
		WaitForCancellation:    true,
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:                call.input.Job.Summary,
	})
	return workflow.ExecuteActivity(ctx, contract.ExecuteActivity, call.input)
}
