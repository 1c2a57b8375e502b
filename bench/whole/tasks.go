package whole

import (
	"os"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/bench/cputime"
)

// taskClock measures the CPU time of the workflow tasks of a replay. A task begins when the workflow sees another time. Unlike
// the duration of a task, it does not depend on other work of the machine.
type taskClock struct {
	interceptor.WorkerInterceptorBase

	at             time.Time
	began, longest float64
}

// InterceptWorkflow implements [interceptor.WorkerInterceptor].
func (c *taskClock) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	inbound := &clockIn{clock: c}
	inbound.Next = next
	return inbound
}

// end returns the time of the longest task.
func (c *taskClock) end() float64 {
	c.next()
	return c.longest
}

func (c *taskClock) next() {
	now, err := cputime.Seconds(os.Getpid())
	if err != nil {
		return // It was readable before, so it is again later.
	}
	if c.began > 0 {
		c.longest = max(c.longest, now-c.began)
	}
	c.began = now
}

type clockIn struct {
	interceptor.WorkflowInboundInterceptorBase

	clock *taskClock
}

// Init implements [interceptor.WorkflowInboundInterceptor].
func (i *clockIn) Init(outbound interceptor.WorkflowOutboundInterceptor) error {
	out := &clockOut{clock: i.clock}
	out.Next = outbound
	return i.Next.Init(out)
}

type clockOut struct {
	interceptor.WorkflowOutboundInterceptorBase

	clock *taskClock
}

// Now implements [interceptor.WorkflowOutboundInterceptor].
func (o *clockOut) Now(ctx workflow.Context) time.Time {
	at := o.Next.Now(ctx)
	if !at.Equal(o.clock.at) {
		o.clock.at = at
		o.clock.next()
	}
	return at
}
