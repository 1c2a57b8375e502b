package group

import (
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	engine "github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/workflows/callopts"
)

func callPrepare(ctx workflow.Context, in contract.PrepareInput) *callopts.Short {
	return callopts.StartShort(ctx, contract.PrepareActivity, "look up workers and recent runs", in)
}

func callWindows(ctx workflow.Context, in contract.WindowsInput) *callopts.Short {
	return callopts.StartShort(ctx, contract.WindowsActivity, "when is the maintenance window of "+in.JobType+"?", in)
}

func callSuccesses(ctx workflow.Context, names []string) *callopts.Short {
	return callopts.StartShort(ctx, contract.SuccessesActivity, "when did "+strings.Join(names, ", ")+" succeed last?", contract.SuccessesInput{JobTypes: names})
}

func callSucceeded(ctx workflow.Context, in contract.SucceededInput) *callopts.Short {
	return callopts.StartShort(ctx, contract.SucceededActivity, "report the success to the runs that wait for it", in)
}

// readKeysAttempts bounds one series of attempts. Between series the group can explain its wait and continue as new.
const readKeysAttempts = 4

func callReadKeys(ctx workflow.Context, in contract.ReadKeysInput) workflow.Future {
	options := callopts.ControlOptions("read dedupe keys of jobs that start soon")
	options.RetryPolicy.MaximumAttempts = readKeysAttempts
	ctx = workflow.WithActivityOptions(ctx, options)
	return workflow.ExecuteActivity(ctx, contract.ReadKeysActivity, in)
}

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
		ScheduleToStartTimeout: engine.TakeTimeout,
		StartToCloseTimeout:    call.timeout,
		HeartbeatTimeout:       call.heartbeatTimeout,
		WaitForCancellation:    true,
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:                "detect what " + call.input.Input.JobType + " has to do",
	})
	return workflow.ExecuteActivity(ctx, contract.DetectActivity, call.input)
}
