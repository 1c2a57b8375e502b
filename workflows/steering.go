package workflows

import (
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
)

// Signals of different names come through different channels, which do not know
// of each other. While no control plane runs, or a group waits for its turn, a
// resume and the pause after it are both unread, and the last word must count: so
// the order in which they arrived is written down as the events are read, which
// is the same in every replay.

// steering is the order of the pauses and resumes that were not read yet.
type steering struct{ names []string }

type steeringKey struct{}

// Steering returns what a worker, replayer or test environment of these workflows
// needs as its interceptor. Without it pauses are taken before resumes.
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

// wish is a pause, or else a resume.
type wish struct {
	pause bool
	contract.PauseInput
}

// steeringOf is what is known of the order; nothing without the interceptor.
func steeringOf(ctx workflow.Context) *steering {
	if s, ok := ctx.Value(steeringKey{}).(*steering); ok {
		return s
	}
	return &steering{}
}

// take reads all pauses and resumes, in the order in which they arrived.
func (s *steering) take(pause, resume workflow.ReceiveChannel) []wish {
	var wishes []wish
	for pause.Len()+resume.Len() > 0 {
		one := wish{pause: s.next(pause.Len() > 0, resume.Len() > 0)}
		if one.pause && pause.ReceiveAsync(&one.PauseInput) || !one.pause && resume.ReceiveAsync(nil) {
			wishes = append(wishes, one)
		}
	}
	s.names = nil // Of those that could not be decoded.
	return wishes
}

// next reports whether a pause is next.
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

// lastIsPause reports whether the last word that was not read is a pause.
func (s *steering) lastIsPause() bool {
	n := len(s.names)
	return n > 0 && s.names[n-1] == contract.SignalPause
}
