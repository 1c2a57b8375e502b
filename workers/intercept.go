package workers

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"

	"github.com/roundsman/roundsman/activities/jobs"
	"github.com/roundsman/roundsman/contract"
)

// gates intercepts the activities of a node worker: jobs and detections have separate gates.
type gates struct {
	interceptor.WorkerInterceptorBase
	worker, instance string
	execute, detect  *gate
	// others counts the running jobs of other groups, in total and of one handler.
	others func(group, handler string) (all, ofHandler int)
	// refused holds the runs whose jobs were refused for lack of a slot.
	refused  refusals
	held     func(queue string) bool
	kept     func(ctx context.Context) bool
	stopping func() bool
	lately   lately
}

// InterceptActivity implements [interceptor.WorkerInterceptor].
func (g *gates) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	inbound := &gatedActivity{gates: g}
	inbound.Next = next
	return inbound
}

type gatedActivity struct {
	interceptor.ActivityInboundInterceptorBase
	gates *gates
}

// ExecuteActivity returns a task without a slot as at_capacity; the group places it elsewhere without counting an attempt.
func (a *gatedActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	chosen, handler := a.gates.of(in.Args)
	if chosen == nil {
		return a.Next.ExecuteActivity(ctx, in)
	}
	leave, err := a.gates.pass(ctx, chosen, handler, in.Args, activity.GetInfo(ctx))
	if err != nil {
		return nil, err
	}
	defer leave()
	// The sender may lack a recent drain or cordon. After this last check an operator can rely on the report that
	// nothing runs here.
	if a.gates.kept(ctx) {
		return nil, a.gates.goesBack(in.Args, activity.GetInfo(ctx), contract.FailureDraining, fmt.Sprintf("worker %s is drained or cordoned", a.gates.worker))
	}
	return a.Next.ExecuteActivity(ctx, in)
}

func (g *gates) pass(ctx context.Context, chosen *gate, handler string, args []any, info activity.Info) (leave func(), err error) {
	if _, _, _, private := contract.WorkerOfQueue(info.TaskQueue); private {
		g.lately.note(time.Now())
	}
	if g.stopping() {
		return nil, g.leaves(args, info)
	}
	if g.held(info.TaskQueue) {
		return nil, g.atCapacity(args, info, fmt.Sprintf("worker %s is drained or cordoned", g.worker))
	}
	maxWait := maxWaitFor(info.HeartbeatTimeout)
	leave, ok := chosen.enter(ctx, handler, jobTypeOf(args), maxWait)
	if !ok {
		g.refuse(args, info)
		return nil, g.atCapacity(args, info, fmt.Sprintf("worker %s had no free slot for handler %q within %s", g.worker, handler, maxWait))
	}
	if g.stopping() { // It was stopped while the task waited for its slot.
		leave()
		return nil, g.leaves(args, info)
	}
	return leave, nil
}

func (g *gates) of(args []any) (chosen *gate, handler string) {
	if len(args) != 1 {
		return nil, ""
	}
	switch in := args[0].(type) {
	case contract.ExecuteInput:
		if in.Adopt { // Its job has a slot already.
			return nil, ""
		}
		return g.execute, in.Handler
	case contract.DetectActivityInput:
		return g.detect, in.Handler
	}
	return nil, ""
}

func jobTypeOf(args []any) string {
	switch in := args[0].(type) {
	case contract.ExecuteInput:
		return in.Job.JobType
	case contract.DetectActivityInput:
		return in.Input.JobType
	}
	return ""
}

// refuse stores the run of a refused job. A run that sends to a shared queue needs no message.
func (g *gates) refuse(args []any, info activity.Info) {
	_, _, _, private := contract.WorkerOfQueue(info.TaskQueue)
	if in, ok := args[0].(contract.ExecuteInput); ok && private {
		g.refused.note(refusal{info.WorkflowExecution.ID, in.Handler})
		g.execute.Poke() // A slot may have become free at this moment.
	}
}

func (g *gates) atCapacity(args []any, info activity.Info, message string) error {
	return g.goesBack(args, info, contract.FailureAtCapacity, message)
}

func (g *gates) leaves(args []any, info activity.Info) error {
	return g.goesBack(args, info, contract.FailureDraining, fmt.Sprintf("worker %s is being stopped", g.worker))
}

// goesBack returns an ordinary application error: if its report is lost, the heartbeat timeout also places the job
// elsewhere. The load of other groups keeps the group from sending more than fits.
func (g *gates) goesBack(args []any, info activity.Info, failure contract.FailureKind, message string) error {
	state := contract.ExecuteState{
		Failure: failure, Worker: g.worker, Instance: g.instance, Message: message, StartedAt: time.Now().UTC(),
	}
	if in, ok := args[0].(contract.ExecuteInput); ok {
		state.Others, state.OthersOfHandler = g.others(info.WorkflowExecution.ID, in.Handler)
	}
	return jobs.FailureOf(state)
}

func interceptors(g *gates) []interceptor.WorkerInterceptor {
	return []interceptor.WorkerInterceptor{g}
}
