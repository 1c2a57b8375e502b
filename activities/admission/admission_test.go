package admission_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdktest "go.temporal.io/sdk/testsuite"

	"github.com/roundsman/roundsman/activities/admission"
	"github.com/roundsman/roundsman/contract"
)

type temporal struct {
	holders []contract.AdmissionHolder
	// runs has the first run and the status of workflows, by id.
	runs  map[string]run
	lists [][]string
	// closed has the closed runs of admission, newest first; queried are the runs that were queried.
	closed  []string
	queried []string
	asked   []string
	query   string
	fault   error
}

type run struct {
	first  string
	status enums.WorkflowExecutionStatus
}

func (f *temporal) QueryWorkflowWithOptions(_ context.Context, request *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	if request.QueryType == contract.QueryDurable {
		f.queried = append(f.queried, request.RunID)
		payloads, err := converter.GetDefaultDataConverter().ToPayloads(contract.DurableResult{Data: []byte(request.RunID)})
		return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}, err
	}
	if f.fault != nil {
		return nil, f.fault
	}
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(f.holders)
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}, err
}

func (f *temporal) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	r, known := f.runs[id]
	if !known {
		return nil, serviceerror.NewNotFound("gone")
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{FirstRunId: r.first, Status: r.status},
	}, nil
}

func (f *temporal) ListWorkflow(_ context.Context, request *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	if strings.Contains(request.GetQuery(), "WorkflowId = 'admission' AND ExecutionStatus != 'ContinuedAsNew'") {
		page := &workflowservice.ListWorkflowExecutionsResponse{Executions: []*workflowpb.WorkflowExecutionInfo{
			{Execution: &commonpb.WorkflowExecution{RunId: "default-test-run-id"}, Status: open},
		}}
		for _, id := range f.closed {
			page.Executions = append(page.Executions, &workflowpb.WorkflowExecutionInfo{Execution: &commonpb.WorkflowExecution{RunId: id}, Status: ended})
		}
		return page, nil
	}
	if request.GetNamespace() != "here" || len(f.lists) == 0 {
		return nil, errors.New("not scripted")
	}
	f.query = request.GetQuery()
	page := &workflowservice.ListWorkflowExecutionsResponse{}
	for _, id := range f.lists[0] {
		page.Executions = append(page.Executions, &workflowpb.WorkflowExecutionInfo{Execution: &commonpb.WorkflowExecution{WorkflowId: id}})
	}
	f.lists = f.lists[1:]
	return page, nil
}

func (f *temporal) SignalWorkflow(_ context.Context, id, _, name string, _ any) error {
	if _, known := f.runs[id]; !known {
		return serviceerror.NewNotFound("gone")
	}
	f.asked = append(f.asked, id+" "+name)
	return nil
}

func execute[R any](t *testing.T, f *temporal, name string, args ...any) (R, error) {
	t.Helper()
	var suite sdktest.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	admission.Register(env, admission.New(f, "here").Hurry())
	var result R
	value, err := env.ExecuteActivity(name, args...)
	if err == nil {
		require.NoError(t, value.Get(&result))
	}
	return result, err
}

const (
	open   = enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	paused = enums.WORKFLOW_EXECUTION_STATUS_PAUSED
	ended  = enums.WORKFLOW_EXECUTION_STATUS_TERMINATED
)

func holder(id string) contract.AdmissionHolder {
	return contract.AdmissionHolder{WorkflowID: id, FirstRunID: "first"}
}

// TestWatchHolders: ended, deleted and replaced workflows are reported; running and paused ones
// are not.
func TestWatchHolders(t *testing.T) {
	t.Parallel()
	f := &temporal{
		holders: []contract.AdmissionHolder{holder("runs"), holder("paused"), holder("ended"), holder("another"), holder("forgotten")},
		runs:    map[string]run{"runs": {"first", open}, "paused": {"first", paused}, "ended": {"first", ended}, "another": {"second", open}},
	}
	result, err := execute[contract.WatchHoldersResult](t, f, contract.WatchHoldersActivity)
	require.NoError(t, err)
	assert.Equal(t, []contract.AdmissionHolder{holder("ended"), holder("another"), holder("forgotten")}, result.Closed)

	_, err = execute[contract.WatchHoldersResult](t, &temporal{fault: errors.New("no server")}, contract.WatchHoldersActivity)
	assert.ErrorContains(t, err, "no server")
}

// TestWatchHoldersStops: a control plane that stops ends the watch at once.
func TestWatchHoldersStops(t *testing.T) {
	t.Parallel()
	f := &temporal{holders: []contract.AdmissionHolder{holder("runs")}, runs: map[string]run{"runs": {"first", open}}}
	var suite sdktest.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	stop := make(chan struct{})
	close(stop)
	env.SetWorkerStopChannel(stop)
	admission.Register(env, admission.New(f, "here"))
	_, err := env.ExecuteActivity(contract.WatchHoldersActivity)
	assert.ErrorContains(t, err, "the control plane is stopping")
}

// TestAskHolders: each running workflow gets one request, even if only the second query lists
// it; ended workflows are not awaited.
func TestAskHolders(t *testing.T) {
	t.Parallel()
	f := &temporal{
		lists: [][]string{{"a", "ended"}, {"a", "late"}},
		runs:  map[string]run{"a": {"first", open}, "late": {"first", open}},
	}
	result, err := execute[contract.AskHoldersResult](t, f, contract.AskHoldersActivity, contract.AskHoldersInput{})
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "late"}, result.WorkflowIDs)
	assert.Equal(t, []string{"a reassert", "late reassert"}, f.asked)
}

// TestAskHoldersThatShowLate: a workflow that visibility lists after the recovery gets a
// request, unless it has asserted its holdings.
func TestAskHoldersThatShowLate(t *testing.T) {
	t.Parallel()
	f := &temporal{
		lists:   [][]string{{"heard", "late"}, {"heard", "later", "expected"}},
		runs:    map[string]run{"heard": {"first", open}, "late": {"first", open}, "later": {"first", open}, "expected": {"first", open}},
		holders: []contract.AdmissionHolder{holder("heard"), {WorkflowID: "expected"}},
	}
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	result, err := execute[contract.AskHoldersResult](t, f, contract.AskHoldersActivity, contract.AskHoldersInput{LateSince: since})
	require.NoError(t, err)
	assert.Equal(t, []string{"late", "later", "expected"}, result.WorkflowIDs)
	assert.Contains(t, f.query, "StartTime >= '2026-01-02T03:04:05Z'")
}

// TestAskHoldersInheritsFromTheNewestRun: after a reset to a point before an earlier reset, the history names an older
// run. Once the newest is known, the older one is queried.
func TestAskHoldersInheritsFromTheNewestRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		known []string
		want  string
	}{{[]string{"first"}, "second"}, {[]string{"second", "first"}, "first"}, {nil, "first"}} {
		f := &temporal{lists: [][]string{{}, {}}, closed: []string{"second", "first"}}
		result, err := execute[contract.AskHoldersResult](t, f, contract.AskHoldersActivity, contract.AskHoldersInput{Previous: "first", Known: c.known})
		require.NoError(t, err)
		assert.Equal(t, contract.Inherited{From: c.want, Data: []byte(c.want)}, result.Inherited)
		assert.Equal(t, []string{c.want}, f.queried)
	}
}
