package starter_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// ending is the input of a stand-in for a run of either kind that receives a request and ends as Outcome.
type ending struct {
	Outcome contract.Outcome
	// With Delivers the run has its outcome, and is open until finishSignal. With Rolls it continues as new after the request.
	Delivers, Rolls, Requested bool
}

// endings serves the stand-in on the queue of a test. looks counts the queries of each run after its request.
type endings struct {
	queue string
	mu    sync.Mutex
	looks map[string]int
}

func serveEndings(t *testing.T, c *starter.Client) *endings {
	t.Helper()
	e := &endings{queue: standInQueue(t), looks: map[string]int{}}
	w := worker.New(c.Temporal(), e.queue, worker.Options{WorkerStopTimeout: time.Second})
	for _, name := range []string{contract.JobGroupWorkflow, contract.DAGWorkflow} {
		w.RegisterWorkflowWithOptions(e.run, workflow.RegisterOptions{Name: name})
	}
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	return e
}

func (e *endings) start(t *testing.T, c *starter.Client, id string, in ending) starter.RunRef {
	t.Helper()
	kind := contract.JobGroupWorkflow
	if (starter.RunRef{WorkflowID: id}).Kind() == starter.KindDAG {
		kind = contract.DAGWorkflow
	}
	_, err := c.Temporal().ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: e.queue}, kind, in)
	require.NoError(t, err)
	return starter.RunRef{WorkflowID: id}
}

func (e *endings) look(id string, n int) (looks int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.looks[id] += n
	return e.looks[id]
}

func (e *endings) run(ctx workflow.Context, in ending) (any, error) {
	info := workflow.GetInfo(ctx)
	err := workflow.SetQueryHandler(ctx, contract.QueryStatus, func() (map[string]string, error) {
		if in.Requested {
			e.look(info.WorkflowExecution.ID, 1)
		}
		if in.Delivers {
			return map[string]string{"phase": contract.PhaseEnded}, nil
		}
		return map[string]string{"phase": "running"}, nil
	})
	if err != nil {
		return nil, err
	}
	for !in.Requested {
		received := workflow.NewSelector(ctx)
		for _, name := range []string{contract.SignalCancelRun, contract.SignalPause, contract.SignalResume} {
			received.AddReceive(workflow.GetSignalChannel(ctx, name), func(c workflow.ReceiveChannel, _ bool) { in.Requested = c.ReceiveAsync(nil) })
		}
		received.Select(ctx)
	}
	if in.Rolls {
		in.Rolls = false
		return nil, workflow.NewContinueAsNewError(ctx, info.WorkflowType.Name, in)
	}
	if in.Delivers {
		workflow.GetSignalChannel(ctx, finishSignal).Receive(ctx, nil)
	}
	result := map[string]any{"outcome": in.Outcome}
	switch in.Outcome {
	case contract.OutcomeCanceled:
		return nil, temporal.NewCanceledError(result)
	case contract.OutcomeFailed:
		return nil, contract.RunFailure("it failed", result)
	}
	return result, nil
}

// dialPatient returns a client that waits for runs of a busy machine.
func dialPatient(t *testing.T, intercept grpc.UnaryClientInterceptor) *starter.Client {
	t.Helper()
	server, err := launched()
	require.NoError(t, err)
	c, err := starter.Dial(t.Context(), starter.Options{Address: server.Address(), HeartbeatInterval: -1, AskWithin: time.Minute, Intercept: intercept})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// TestARequestThatIsMissed: a run that is ending reads a request, which has no effect then. The sender gets the outcome.
func TestARequestThatIsMissed(t *testing.T) {
	t.Parallel()
	c := dialPatient(t, nil)
	e := serveEndings(t, c)
	cancel := func(ref starter.RunRef) error { return c.Runs().Cancel(t.Context(), ref, "enough") }
	pause := func(ref starter.RunRef) error { return c.Runs().Pause(t.Context(), ref, "wait") }
	resume := func(ref starter.RunRef) error { return c.Runs().Resume(t.Context(), ref) }
	for name, one := range map[string]struct {
		request func(starter.RunRef) error
		outcome contract.Outcome
		refused string
	}{
		"cancel-completed": {cancel, contract.OutcomeCompleted, " has already ended (completed): there is nothing to cancel"},
		"cancel-failed":    {cancel, contract.OutcomeFailed, " has already ended (failed): there is nothing to cancel"},
		"cancel-canceled":  {cancel, contract.OutcomeCanceled, ""},
		"pause-completed":  {pause, contract.OutcomeCompleted, " has already ended (completed)"},
		"pause-canceled":   {pause, contract.OutcomeCanceled, " has already ended (canceled)"},
		"resume-completed": {resume, contract.OutcomeCompleted, ""},
	} {
		for _, id := range []string{contract.GroupWorkflowID("missed") + "-adhoc-", contract.DAGWorkflowID("missed", "")} {
			for how, in := range map[string]ending{"-closes": {}, "-delivers": {Delivers: true, Rolls: true}} {
				id := id + name + how
				t.Run(strings.ReplaceAll(id, "/", "-"), func(t *testing.T) {
					t.Parallel()
					in.Outcome = one.outcome
					ref := e.start(t, c, id, in)
					answer := make(chan error, 1)
					go func() { answer <- one.request(ref) }()
					if in.Delivers {
						testsuite.WaitFor(t, time.Minute, "the sender looks at the run, or has returned", func() bool { return e.look(id, 0)+len(answer) > 0 })
						require.NoError(t, c.Temporal().SignalWorkflow(t.Context(), id, "", finishSignal, nil))
					}
					err := <-answer
					if one.refused == "" {
						require.NoError(t, err)
						return
					}
					require.ErrorIs(t, err, starter.ErrAlreadyEnded)
					assert.Equal(t, "run "+id+one.refused, err.Error())
				})
			}
		}
	}
}

// TestAPauseOfARunThatCannotClose: the run has its outcome, and its last messages are undelivered.
func TestAPauseOfARunThatCannotClose(t *testing.T) {
	t.Parallel()
	c := dial(t)
	e := serveEndings(t, c)
	ref := e.start(t, c, contract.DAGWorkflowID("missed", "undelivered"), ending{Delivers: true, Outcome: contract.OutcomeCompleted})
	var err error
	testsuite.WaitFor(t, time.Minute, "the pause is refused", func() bool { // A run that has not read it in time may accept it.
		err = c.Runs().Pause(t.Context(), ref, "wait")
		return err != nil
	})
	require.NoError(t, c.Temporal().SignalWorkflow(t.Context(), ref.WorkflowID, "", finishSignal, nil))
	require.ErrorIs(t, err, starter.ErrAlreadyEnded)
	assert.Equal(t, "run "+ref.WorkflowID+" has already ended its work, and only its last messages are not delivered yet", err.Error())
}

// TestARequestToAnAttemptThatEnds: the next attempt of a sub-DAG has the same workflow id, and did not get the request.
func TestARequestToAnAttemptThatEnds(t *testing.T) {
	t.Parallel()
	c := dial(t)
	e := serveEndings(t, c)
	id := contract.SubDAGWorkflowID(contract.DAGWorkflowID("outer", "1"), "sub")
	first := e.start(t, c, id, ending{Delivers: true, Outcome: contract.OutcomeFailed})
	next := sync.OnceFunc(func() {
		assert.NoError(t, c.Temporal().SignalWorkflow(t.Context(), id, "", finishSignal, nil))
		assert.Error(t, c.Temporal().GetWorkflow(t.Context(), id, first.RunID).Get(t.Context(), nil))
		_, err := c.Temporal().ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: e.queue}, contract.DAGWorkflow, ending{})
		assert.NoError(t, err)
	})
	sender := dialPatient(t, func(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, options ...grpc.CallOption) error {
		if _, looks := request.(*workflowservice.QueryWorkflowRequest); looks {
			next()
		}
		return invoker(ctx, method, request, reply, cc, options...)
	})
	require.ErrorIs(t, sender.Runs().Cancel(t.Context(), first, "enough"), starter.ErrAlreadyEnded)
}
