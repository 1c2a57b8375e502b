package run

import (
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
)

// Signals with different names have no common order. A resume and a later pause may both be unread, and the later one
// must count. So their order is recorded while the events are read; it is the same in every replay.

type steering struct{ names []string }

type steeringKey struct{}

// Steering returns the interceptor for workers, replayers and test environments. Without it pauses come before resumes.
func Steering() interceptor.WorkerInterceptor { return &steeringKeeper{} }

type steeringKeeper struct {
	interceptor.WorkerInterceptorBase
}

// InterceptWorkflow implements [interceptor.WorkerInterceptor].
func (*steeringKeeper) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	inbound := &steered{}
	inbound.Next = next
	return inbound
}

type steered struct {
	interceptor.WorkflowInboundInterceptorBase
	steering
}

// ExecuteWorkflow implements [interceptor.WorkflowInboundInterceptor].
func (s *steered) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	return s.Next.ExecuteWorkflow(workflow.WithValue(ctx, steeringKey{}, &s.steering), in)
}

// HandleSignal implements [interceptor.WorkflowInboundInterceptor].
func (s *steered) HandleSignal(ctx workflow.Context, in *interceptor.HandleSignalInput) error {
	if in.SignalName == contract.SignalPause || in.SignalName == contract.SignalResume {
		s.names = append(s.names, in.SignalName)
	}
	return s.Next.HandleSignal(ctx, in)
}

// steeringOf returns the recorded order; empty without the interceptor.
func steeringOf(ctx workflow.Context) *steering {
	if s, ok := ctx.Value(steeringKey{}).(*steering); ok {
		return s
	}
	return &steering{}
}

// Steer is a pause or a resume.
type Steer struct {
	Pause bool
	contract.PauseInput
}

// Steers returns all pauses and resumes in the order of their arrival.
func (r *Runner) Steers() []Steer {
	s, pause, resume := steeringOf(r.ctx), r.inbox.pause, r.inbox.resume
	var steers []Steer
	for pause.Len()+resume.Len() > 0 {
		one := Steer{Pause: s.next(pause.Len() > 0, resume.Len() > 0)}
		if one.Pause && pause.ReceiveAsync(&one.PauseInput) || !one.Pause && resume.ReceiveAsync(&one.PauseInput) {
			steers = append(steers, one)
		}
	}
	s.names = nil // Names of undecodable signals.
	return steers
}

func (s *steering) next(paused, resumed bool) bool {
	for len(s.names) > 0 {
		name := s.names[0]
		s.names = s.names[1:]
		if name == contract.SignalPause && paused {
			return true
		}
		if name == contract.SignalResume && resumed {
			return false
		}
	}
	return paused
}
