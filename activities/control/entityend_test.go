package control_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdktest "go.temporal.io/sdk/testsuite"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/activities/control"
	"github.com/roundsman/roundsman/contract"
)

// pastRuns is a server with ended runs of an entity. Each look at the list of runs returns the next of looks; the
// last one repeats.
type pastRuns struct {
	control.Client
	looks [][]listed
	ends  map[string]ending
}

type listed struct {
	run    string
	status enums.WorkflowExecutionStatus
}

type ending struct {
	event *historypb.HistoryEvent
	fault error
}

func (p *pastRuns) WorkflowService() workflowservice.WorkflowServiceClient { return pastCalls{runs: p} }

type pastCalls struct {
	workflowservice.WorkflowServiceClient
	runs *pastRuns
}

func (c pastCalls) ListWorkflowExecutions(context.Context, *workflowservice.ListWorkflowExecutionsRequest, ...grpc.CallOption) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	page := &workflowservice.ListWorkflowExecutionsResponse{}
	for _, one := range c.runs.looks[0] {
		page.Executions = append(page.Executions, &workflowpb.WorkflowExecutionInfo{
			Execution: &commonpb.WorkflowExecution{WorkflowId: "admission", RunId: one.run}, Status: one.status,
		})
	}
	if len(c.runs.looks) > 1 {
		c.runs.looks = c.runs.looks[1:]
	}
	return page, nil
}

func (p *pastRuns) GetWorkflowHistory(_ context.Context, _, run string, _ bool, _ enums.HistoryEventFilterType) client.HistoryEventIterator {
	end := p.ends[run]
	return &oneEvent{ending: end, left: end != ending{}}
}

type oneEvent struct {
	ending
	left bool
}

func (e *oneEvent) HasNext() bool { return e.left }

func (e *oneEvent) Next() (*historypb.HistoryEvent, error) {
	e.left = false
	return e.event, e.fault
}

func terminatedFor(reason string) ending {
	return ending{event: &historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowExecutionTerminatedEventAttributes{
		WorkflowExecutionTerminatedEventAttributes: &historypb.WorkflowExecutionTerminatedEventAttributes{Reason: reason, Identity: "temporal-cli:ann@desk"},
	}}}
}

// TestNoEndOfAnEntityIsLost: each ended run that may be missing in the log is reported, or the activity fails and is
// repeated.
func TestNoEndOfAnEntityIsLost(t *testing.T) {
	t.Parallel()
	const (
		running    = enums.WORKFLOW_EXECUTION_STATUS_RUNNING
		terminated = enums.WORKFLOW_EXECUTION_STATUS_TERMINATED
	)
	me, x, y, w := listed{"me", running}, listed{"x", terminated}, listed{"y", terminated}, listed{"w", terminated}
	all := map[string]ending{"w": terminatedFor("w"), "x": terminatedFor("x"), "y": terminatedFor("y")}
	continued := ending{event: &historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowExecutionContinuedAsNewEventAttributes{
		WorkflowExecutionContinuedAsNewEventAttributes: &historypb.WorkflowExecutionContinuedAsNewEventAttributes{},
	}}}
	for name, c := range map[string]struct {
		looks  [][]listed
		ends   map[string]ending
		passed []string
		want   []string
		fails  bool
	}{
		"known by its starter":                       {looks: [][]listed{{me, x}}, ends: all, passed: []string{"x"}, want: []string{"x"}},
		"not known by its starter":                   {looks: [][]listed{{me, x, w}}, ends: all, want: []string{"x"}},
		"another process had started one meanwhile":  {looks: [][]listed{{me, y, x, w}}, ends: all, passed: []string{"x"}, want: []string{"x", "y"}},
		"a run of another process between two known": {looks: [][]listed{{me, y, x, w}}, ends: all, passed: []string{"y", "w"}, want: []string{"w", "x", "y"}},
		"visibility does not show this run":          {looks: [][]listed{{x}, {me, y, x}}, ends: all, passed: []string{"x"}, want: []string{"x", "y"}},
		"visibility shows the one before as running": {looks: [][]listed{{me, listed{"y", running}, x}, {me, y, x}}, ends: all, passed: []string{"x"}, want: []string{"x", "y"}},
		"visibility never shows this run":            {looks: [][]listed{{x}}, ends: all, want: []string{"x"}},
		"the first one of a namespace":               {looks: [][]listed{{me}}},
		"an unreadable history": {
			looks: [][]listed{{me, y, x}}, passed: []string{"y", "x"}, fails: true,
			ends: map[string]ending{"x": terminatedFor("x"), "y": {fault: errors.New("the server is busy")}},
		},
		"a deleted history": {
			looks: [][]listed{{me}}, passed: []string{"y", "x", "w"}, want: []string{"w"},
			ends: map[string]ending{"w": terminatedFor("w"), "y": {fault: serviceerror.NewNotFound("beyond retention")}},
		},
		"it had continued": {
			looks: [][]listed{{me}}, passed: []string{"y", "x"}, want: []string{"y"},
			ends: map[string]ending{"x": continued, "y": terminatedFor("y")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var suite sdktest.WorkflowTestSuite
			env := suite.NewTestActivityEnvironment()
			server := &pastRuns{looks: c.looks, ends: c.ends}
			control.Register(env, control.New(server, contract.FleetConfig{}, control.WithVisibilityLag(time.Millisecond)))
			value, err := env.ExecuteActivity(contract.EntityEndActivity, contract.EntityEndInput{WorkflowID: "admission", RunID: "me", Passed: c.passed})
			if c.fails {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			var result contract.EntityEndResult
			require.NoError(t, value.Get(&result))
			if result.Entry != nil {
				result.Passed = append(result.Passed, *result.Entry)
			}
			var reasons []string
			for _, entry := range result.Passed {
				assert.Equal(t, "admission.terminate by ann", entry.Action+" by "+entry.Actor)
				reasons = append(reasons, entry.Detail)
			}
			assert.ElementsMatch(t, c.want, reasons)
		})
	}
}

// together is a server that answers a request for a history when a second one is open.
type together struct {
	*pastRuns

	open atomic.Int32
	both chan struct{}
}

func (s *together) GetWorkflowHistory(ctx context.Context, id, run string, poll bool, of enums.HistoryEventFilterType) client.HistoryEventIterator {
	if s.open.Add(1) == 2 {
		close(s.both)
	}
	select {
	case <-s.both:
		return s.pastRuns.GetWorkflowHistory(ctx, id, run, poll, of)
	case <-ctx.Done():
		return &oneEvent{ending: ending{fault: context.Cause(ctx)}, left: true}
	}
}

// TestEndsAreReadTogether: there may be a hundred of them.
func TestEndsAreReadTogether(t *testing.T) {
	t.Parallel()
	var suite sdktest.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	past := &pastRuns{looks: [][]listed{{{"me", enums.WORKFLOW_EXECUTION_STATUS_RUNNING}}}, ends: map[string]ending{"x": terminatedFor("x"), "y": terminatedFor("y")}}
	control.Register(env, control.New(&together{pastRuns: past, both: make(chan struct{})}, contract.FleetConfig{}, control.WithVisibilityLag(time.Millisecond)))
	value, err := env.ExecuteActivity(contract.EntityEndActivity, contract.EntityEndInput{WorkflowID: "admission", RunID: "me", Passed: []string{"y", "x"}})
	require.NoError(t, err)
	var result contract.EntityEndResult
	require.NoError(t, value.Get(&result))
	require.Len(t, result.Passed, 2)
	assert.Equal(t, []string{"y", "x"}, []string{result.Passed[0].Detail, result.Passed[1].Detail})
}
