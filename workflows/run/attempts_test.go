package run_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	engine "github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite/envtest"
	"github.com/roundsman/roundsman/workflows/run"
)

// contexts keeps the context of each attempt.
type contexts struct {
	interceptor.WorkerInterceptorBase

	ofAttempts []workflow.Context
	// reports are those about workers, in the order of their commands.
	reports []string
}

func (c *contexts) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &contextsIn{interceptor.WorkflowInboundInterceptorBase{Next: next}, c}
}

type contextsIn struct {
	interceptor.WorkflowInboundInterceptorBase

	keep *contexts
}

func (i *contextsIn) Init(outbound interceptor.WorkflowOutboundInterceptor) error {
	return i.Next.Init(&contextsOut{interceptor.WorkflowOutboundInterceptorBase{Next: outbound}, i.keep})
}

type contextsOut struct {
	interceptor.WorkflowOutboundInterceptorBase

	keep *contexts
}

func (o *contextsOut) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	if name == contract.ExecuteActivity {
		o.keep.ofAttempts = append(o.keep.ofAttempts, ctx)
	}
	return o.Next.ExecuteActivity(ctx, name, args...)
}

func (o *contextsOut) SignalExternalWorkflow(ctx workflow.Context, id, run, signal string, arg any) workflow.Future {
	if in, ok := arg.(contract.WorkerTroubleInput); ok {
		o.keep.reports = append(o.keep.reports, strings.TrimSpace(in.ID+" "+string(in.Code)))
	}
	return o.Next.SignalExternalWorkflow(ctx, id, run, signal, arg)
}

// TestReportsAboutAWorkerHaveAnOrder: the server delivers two signals of one workflow task in any order, so a clear waits
// for the delivery of the trouble before it. Other workers' reports do not wait.
func TestReportsAboutAWorkerHaveAnOrder(t *testing.T) {
	t.Parallel()
	b, keep := newBench(t), &contexts{}
	b.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: envtest.Patience, Interceptors: []interceptor.WorkerInterceptor{keep}})
	b.OnSignalExternalWorkflow(mock.Anything, contract.FleetWorkflowID, "", contract.SignalWorkerTrouble, mock.Anything).Return(nil)
	reports := func(r *run.Runner) {
		r.CarryOut(engine.Decision{Kind: engine.ReportTrouble, Worker: "node-a", Instance: "i", Trouble: contract.CodeCannotStart}, "")
		r.CarryOut(engine.Decision{Kind: engine.ClearTrouble, Worker: "node-a", Instance: "i"}, "")
		r.CarryOut(engine.Decision{Kind: engine.ClearTrouble, Worker: "node-b", Instance: "i"}, "")
	}
	b.ExecuteWorkflow(func(ctx workflow.Context) error {
		r := run.New(ctx, run.Options{JobType: "scrub"})
		reports(r)
		assert.Equal(t, []string{"node-a CANNOT_START", "node-b"}, keep.reports)
		for !r.Idle() {
			if err := r.Await(r.Ready); err != nil {
				return err
			}
			r.Collect()
		}
		assert.Equal(t, []string{"node-a CANNOT_START", "node-b", "node-a"}, keep.reports)
		reports(r)
		err := r.Close()
		assert.Equal(t, []string{"node-a CANNOT_START", "node-b", "node-a"}, keep.reports[3:], "an end waits for both")
		return err
	})
	require.NoError(t, b.GetWorkflowError())
}

// TestAnEndedAttemptLeavesItsContext: a context that is not canceled stays with its parent, so a run of 6,000 attempts
// would keep 6,000 of them, with their options.
func TestAnEndedAttemptLeavesItsContext(t *testing.T) {
	t.Parallel()
	b, keep := newBench(t), &contexts{}
	b.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: envtest.Patience, Interceptors: []interceptor.WorkerInterceptor{keep}})
	b.RegisterActivityWithOptions(func(_ context.Context, _ contract.ExecuteInput) (contract.ExecuteState, error) {
		return contract.ExecuteState{Worker: "node-a", Instance: "i-node-a"}, nil
	}, activity.RegisterOptions{Name: contract.ExecuteActivity})
	canceled := 0
	b.SetOnActivityCanceledListener(func(*activity.Info) { canceled++ })
	b.ExecuteWorkflow(func(ctx workflow.Context) error {
		r := run.New(ctx, run.Options{JobType: "scrub"})
		start := engine.Decision{Kind: engine.Start, Item: 1, Attempt: 1, Worker: "node-a", Instance: "i-node-a", Timeout: time.Minute, HeartbeatTimeout: time.Minute, At: r.Now()}
		r.Execute(start, contract.ExecuteInput{Handler: "scrub", Job: jobtype.Job{ID: "job-00001"}}, jobtype.Policy{})
		if err := r.Await(r.Ready); err != nil {
			return err
		}
		require.Len(t, keep.ofAttempts, 1)
		require.NoError(t, keep.ofAttempts[0].Err())
		require.Len(t, r.Endings(contract.JobNumber), 1)
		assert.ErrorIs(t, keep.ofAttempts[0].Err(), workflow.ErrCanceled)
		return r.Close()
	})
	require.NoError(t, b.GetWorkflowError())
	assert.Zero(t, canceled)
}
