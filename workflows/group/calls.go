package group

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/workflows/calls"
	"github.com/roundsman/roundsman/workflows/run"
)

func callPrepare(ctx workflow.Context, in contract.PrepareInput) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, calls.ControlOptions("look up workers and recent runs"))
	return workflow.ExecuteActivity(ctx, contract.PrepareActivity, in)
}

func callWindows(ctx workflow.Context, in contract.WindowsInput) workflow.Future {
	ctx = workflow.WithActivityOptions(ctx, calls.ControlOptions("when is the maintenance window of "+in.JobType+"?"))
	return workflow.ExecuteActivity(ctx, contract.WindowsActivity, in)
}

// detectCall is where and for how long a detection runs.
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
		ScheduleToStartTimeout: run.TakeTimeout,
		StartToCloseTimeout:    call.timeout,
		HeartbeatTimeout:       call.heartbeatTimeout,
		WaitForCancellation:    true,
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:                "detect what " + call.input.Input.JobType + " has to do",
	})
	return workflow.ExecuteActivity(ctx, contract.DetectActivity, call.input)
}
