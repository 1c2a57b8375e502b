// Package callopts has the activity options that several workflows share.
package callopts

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
)

// controlTimeout bounds one attempt of a short control activity.
const controlTimeout = 30 * time.Second

// inTaskTimeout bounds a call that a workflow task waits for: the server repeats a task after 10 s.
const inTaskTimeout = 3 * time.Second

// InTaskOptions returns the options of a call within the workflow task: one event instead of an activity's three and
// another task. A call repeats if its process dies, so it must be idempotent. A failed call is not repeated.
func InTaskOptions(summary string) workflow.LocalActivityOptions {
	return workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: inTaskTimeout, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}, Summary: summary,
	}
}

// Short is a control activity with a fast answer as a rule. It is called within the workflow task first, and through
// the control plane's queue if that fails or takes too long.
type Short struct {
	ctx           workflow.Context
	name, summary string
	input         any
	future        workflow.Future
	inTask        bool
}

// StartShort calls the activity of that name.
func StartShort(ctx workflow.Context, name, summary string, input any) *Short {
	in := workflow.WithLocalActivityOptions(ctx, InTaskOptions(summary))
	return &Short{ctx: ctx, name: name, summary: summary, input: input, inTask: true, future: workflow.ExecuteLocalActivity(in, name, input)}
}

// Ready reports whether [Short.Get] has something to do; a nil Short is not.
func (s *Short) Ready() bool { return s != nil && s.future.IsReady() }

// InTask reports whether the workflow task waits for the answer, so that no timer is needed.
func (s *Short) InTask() bool { return s != nil && s.inTask }

// Get reads the result. It returns false if the call is made once more.
func (s *Short) Get(result any) (done bool, err error) {
	err = s.future.Get(s.ctx, result)
	if err == nil || !s.inTask {
		return true, err
	}
	workflow.GetLogger(s.ctx).Info("A call within the workflow task is repeated as an activity.", "activity", s.name, "error", err)
	s.inTask = false
	s.future = workflow.ExecuteActivity(workflow.WithActivityOptions(s.ctx, ControlOptions(s.summary)), s.name, s.input)
	return false, nil
}

// ControlOptions returns the options of short control activities, which are retried until they succeed.
func ControlOptions(summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue:           contract.ControlQueue,
		StartToCloseTimeout: controlTimeout,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second},
		Summary:             summary,
	}
}
