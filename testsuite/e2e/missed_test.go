package e2e

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/command/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/replay"
)

// lastTask holds the workflow task that closes a run until a request has been sent.
type lastTask struct {
	mu         sync.Mutex
	held, sent chan struct{}
}

// hold holds the next closing task. The returned channel is closed as soon as one is held.
func (l *lastTask) hold() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held, l.sent = make(chan struct{}), make(chan struct{})
	return l.held
}

func (l *lastTask) intercept(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, options ...grpc.CallOption) error {
	switch in := request.(type) {
	case *workflowservice.RespondWorkflowTaskCompletedRequest:
		if slices.ContainsFunc(in.GetCommands(), closes) {
			l.wait(ctx)
		}
	case *workflowservice.SignalWorkflowExecutionRequest:
		if in.GetSignalName() == contract.SignalCancelRun || in.GetSignalName() == contract.SignalPause {
			defer l.release()
		}
	}
	return invoker(ctx, method, request, reply, cc, options...)
}

func closes(c *command.Command) bool {
	return slices.Contains([]enums.CommandType{
		enums.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION, enums.COMMAND_TYPE_FAIL_WORKFLOW_EXECUTION, enums.COMMAND_TYPE_CANCEL_WORKFLOW_EXECUTION,
	}, c.GetCommandType())
}

func (l *lastTask) wait(ctx context.Context) {
	l.mu.Lock()
	held, sent := l.held, l.sent
	l.held = nil
	l.mu.Unlock()
	if held == nil {
		return
	}
	close(held)
	select {
	case <-sent:
	case <-ctx.Done():
	}
}

func (l *lastTask) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sent != nil {
		close(l.sent)
		l.sent = nil
	}
}

// TestARequestToARunThatEnds: a request arrives while the workflow task that closes the run is executed. The run reads it
// in another task. The answer is a success only if the request has an effect.
func TestARequestToARunThatEnds(t *testing.T) {
	t.Parallel()
	last := &lastTask{}
	p := newInProcessOn(t, replay.StartServer(t), 4, newSite(), last.intercept)
	p.awaitAdmission("it knows that nothing is held", func(contract.AdmissionView) bool { return true })
	// Its grant is returned after the last task, so the request comes after the outcome.
	pooled := compileDAG(t, "version: 1\nname: pooled\ntasks:\n  - {id: a, resources: {db: 1}, noop: true}\n  - {id: b, needs: [a], resources: {db: 1}, noop: true}\n", nil)
	requests := map[string]func(starter.RunRef) error{
		"cancel": func(ref starter.RunRef) error { return p.client.Runs().Cancel(t.Context(), ref, "enough") },
		"pause":  func(ref starter.RunRef) error { return p.client.Runs().Pause(t.Context(), ref, "wait") },
	}
	for name, request := range requests {
		for kind, start := range map[string]func() starter.RunRef{
			"group": func() starter.RunRef { return p.submit(siteSpec(t, "late", ""), name, at("a")).RunRef },
			"DAG":   func() starter.RunRef { return runDAG(t, p.client, pooled, starter.DAGOptions{Run: name}) },
			"DAG that continued as new": func() starter.RunRef {
				return runDAG(t, p.client, pooled, starter.DAGOptions{Run: name + "-new", RollEvents: 1})
			},
		} {
			held := last.hold()
			ref := start()
			testsuite.WaitFor(t, time.Minute, name+" of a "+kind+": the run is about to close", func() bool {
				select {
				case <-held:
					return true
				default:
					return false
				}
			})
			err := request(ref)
			ended, awaited := p.client.Runs().Await(t.Context(), ref)
			require.NoError(t, awaited)
			require.ErrorIs(t, err, starter.ErrAlreadyEnded, "%s of a %s", name, kind)
			assert.Equal(t, contract.OutcomeCompleted, ended.Outcome, "%s of a %s", name, kind)
		}
	}
}
