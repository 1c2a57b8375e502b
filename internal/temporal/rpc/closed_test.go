package rpc_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdktest "go.temporal.io/sdk/testsuite"

	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

const lag = time.Second

type visible map[string]enums.WorkflowExecutionStatus

// inActivity calls do in an activity of a worker that stops with stop.
func inActivity(t *testing.T, stop chan struct{}, do func(ctx context.Context)) {
	t.Helper()
	var suite sdktest.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	if stop != nil {
		env.SetWorkerStopChannel(stop)
	}
	ran := false
	body := func(ctx context.Context) error { ran = true; do(ctx); return nil }
	env.RegisterActivity(body)
	_, err := env.ExecuteActivity(body)
	require.NoError(t, err)
	require.True(t, ran)
}

// listed lists the runs that visibility shows at each look; the last look repeats.
func listed(ctx context.Context, t *testing.T, looks ...visible) (closed []string, n int, err error) {
	t.Helper()
	closed, err = rpc.ClosedRuns{
		Namespace: "default", WorkflowID: "nightly", Asking: "now", Lag: lag, Most: 7,
		Lists: func(_ context.Context, in *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
			assert.Equal(t, "WorkflowId = 'nightly' AND ExecutionStatus != 'ContinuedAsNew'", in.GetQuery())
			assert.Equal(t, "default", in.GetNamespace())
			assert.EqualValues(t, 7, in.GetPageSize())
			n++
			answer := &workflowservice.ListWorkflowExecutionsResponse{}
			for _, id := range []string{"now", "c", "b", "a"} {
				if status, shown := looks[min(n, len(looks))-1][id]; shown {
					answer.Executions = append(answer.Executions, &workflowpb.WorkflowExecutionInfo{Execution: &commonpb.WorkflowExecution{RunId: id}, Status: status})
				}
			}
			return answer, nil
		},
	}.List(ctx)
	return closed, n, err
}

const (
	running   = enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	paused    = enums.WORKFLOW_EXECUTION_STATUS_PAUSED
	completed = enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
	timedOut  = enums.WORKFLOW_EXECUTION_STATUS_TIMED_OUT
	invented  = enums.WorkflowExecutionStatus(99)
)

// A list that shows the asking run as the only open one is complete.
func TestClosedRunsOfALateVisibility(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		looks []visible
		want  []string
		n     int
	}{
		"the first run":                   {[]visible{{"now": running}}, nil, 1},
		"all are known at once":           {[]visible{{"now": running, "c": timedOut, "a": completed}}, []string{"c", "a"}, 1},
		"a status of a later server":      {[]visible{{"now": running, "a": invented}}, []string{"a"}, 1},
		"the asking run counts as open":   {[]visible{{"now": completed, "a": completed}}, []string{"a"}, 1},
		"the asking run appears late":     {[]visible{{"a": completed}, {"a": completed}, {"now": running, "a": completed}}, []string{"a"}, 3},
		"the run before ends late":        {[]visible{{"now": running, "b": running, "a": completed}, {"now": running, "b": completed, "a": completed}}, []string{"b", "a"}, 2},
		"the run before was paused":       {[]visible{{"now": running, "b": paused}, {"now": running, "b": timedOut}}, []string{"b"}, 2},
		"a visibility that never follows": {[]visible{{"b": running, "a": completed}}, []string{"a"}, 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				inActivity(t, nil, func(ctx context.Context) {
					begun := time.Now()
					closed, n, err := listed(ctx, t, row.looks...)
					require.NoError(t, err)
					assert.Equal(t, row.want, closed)
					assert.Equal(t, row.n, n)
					assert.Equal(t, time.Duration(row.n-1)*lag/4, time.Since(begun))
				})
			})
		})
	}
}

func TestAListThatFailsIsNotRepeated(t *testing.T) {
	t.Parallel()
	refused := serviceerror.NewPermissionDenied("no", "")
	closed, err := rpc.ClosedRuns{WorkflowID: "nightly", Lists: func(context.Context, *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
		return nil, refused
	}}.List(t.Context())
	require.ErrorIs(t, err, refused)
	require.ErrorContains(t, err, "look for earlier runs of nightly")
	assert.Empty(t, closed)
}

// An incomplete list is not a result.
func TestLooksEndWithTheirActivity(t *testing.T) {
	t.Parallel()
	gone := errors.New("canceled by the run")
	inActivity(t, nil, func(ctx context.Context) {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(gone)
		closed, n, err := listed(ctx, t, visible{"a": completed})
		assert.ErrorIs(t, err, gone)
		assert.Nil(t, closed)
		assert.Equal(t, 1, n)
	})
	stop := make(chan struct{})
	close(stop)
	inActivity(t, stop, func(ctx context.Context) {
		closed, _, err := listed(ctx, t, visible{"a": completed})
		assert.ErrorIs(t, err, rpc.ErrStopping)
		assert.Nil(t, closed)
	})
}

// A closed channel counts as an event, as the end of a stream does.
func TestTheNextEvent(t *testing.T) {
	t.Parallel()
	inActivity(t, nil, func(ctx context.Context) {
		events := make(chan int, 2)
		events <- 1
		events <- 2
		assert.NoError(t, rpc.NextEvent(ctx, events))
		assert.Len(t, events, 1, "it takes one")
		over := make(chan int)
		close(over)
		assert.NoError(t, rpc.NextEvent(ctx, over))
	})
}
