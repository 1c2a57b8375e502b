package control_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	querypb "go.temporal.io/api/query/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdktest "go.temporal.io/sdk/testsuite"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/activities/control"
	"github.com/roundsman/roundsman/contract"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

type temporal struct {
	control.Client
	// mu guards the fields that a keeper and the test use.
	mu         sync.Mutex
	view       *contract.FleetView
	closed     bool
	queryFault error
	started    []any
	signals    []string
	watched    []contract.WatchFleetInput
	actions    []client.ScheduleActionResult
	noSchedule bool
	fault      error
	runs       map[string]run
	described  []string
	durable    []byte
	told       []string
	// updated lists the calls of admission; each is answered unless there is a fault.
	updated     []string
	updateFault error
}

type run struct {
	status enums.WorkflowExecutionStatus
	event  *historypb.HistoryEvent
}

func (f *temporal) QueryWorkflowWithOptions(_ context.Context, request *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	switch {
	case f.queryFault != nil:
		return nil, f.queryFault
	case request.QueryType == contract.QueryDurable:
		payloads, err := converter.GetDefaultDataConverter().ToPayloads(contract.DurableResult{Data: append(f.durable, request.RunID...)})
		return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}, err
	case f.closed && request.QueryRejectCondition == enums.QUERY_REJECT_CONDITION_NOT_OPEN:
		return &client.QueryWorkflowWithOptionsResponse{QueryRejected: &querypb.QueryRejected{Status: enums.WORKFLOW_EXECUTION_STATUS_TERMINATED}}, nil
	case f.view == nil:
		return nil, serviceerror.NewNotFound("no fleet")
	}
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(*f.view)
	if err != nil {
		return nil, err
	}
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}, nil
}

func (f *temporal) SignalWithStartWorkflow(_ context.Context, _, name string, arg any, options client.StartWorkflowOptions, _ any, args ...any) (client.WorkflowRun, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.signals, f.started = append(f.signals, name), append(f.started, args...)
	if watch, ok := arg.(contract.WatchFleetInput); ok && options.ID == contract.FleetWorkflowID {
		f.watched = append(f.watched, watch)
	}
	return nil, f.fault
}

func (f *temporal) ExecuteWorkflow(_ context.Context, options client.StartWorkflowOptions, _ any, args ...any) (client.WorkflowRun, error) {
	if options.WorkflowIDConflictPolicy != enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING {
		return nil, errors.New("a running registry must be left alone")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started = append(f.started, args...)
	return nil, f.fault
}

func (f *temporal) ScheduleClient() client.ScheduleClient { return schedules{f: f} }

type schedules struct {
	client.ScheduleClient
	f *temporal
}

func (s schedules) GetHandle(_ context.Context, id string) client.ScheduleHandle {
	return schedule{f: s.f, id: id}
}

type schedule struct {
	client.ScheduleHandle
	f  *temporal
	id string
}

func (s schedule) Describe(context.Context) (*client.ScheduleDescription, error) {
	if s.f.noSchedule || s.id != "jobtype/scrub" {
		return nil, serviceerror.NewNotFound("no schedule")
	}
	return &client.ScheduleDescription{Info: client.ScheduleInfo{
		RecentActions: s.f.actions, NumActionsSkippedOverlap: 3, NumActionsMissedCatchupWindow: 1,
	}}, nil
}

func (f *temporal) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.described = append(f.described, id)
	r, known := f.runs[id]
	if !known {
		return nil, serviceerror.NewNotFound("beyond retention")
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: "run-" + id}, Status: r.status, CloseTime: timestamppb.New(t0.Add(time.Minute)),
	}}, nil
}

func (f *temporal) GetWorkflowHistory(_ context.Context, id, _ string, _ bool, _ enums.HistoryEventFilterType) client.HistoryEventIterator {
	return &events{last: f.runs[id].event}
}

type events struct{ last *historypb.HistoryEvent }

func (e *events) HasNext() bool { return e.last != nil }

func (e *events) Next() (*historypb.HistoryEvent, error) {
	last := e.last
	e.last = nil
	return last, nil
}

func (f *temporal) ran(id string, status enums.WorkflowExecutionStatus, event *historypb.HistoryEvent) {
	if f.runs == nil {
		f.runs = map[string]run{}
	}
	f.runs[id] = run{status, event}
	f.actions = append(f.actions, client.ScheduleActionResult{
		ActualTime: t0, StartWorkflowResult: &client.ScheduleWorkflowExecution{WorkflowID: id, FirstExecutionRunID: "first-" + id},
	})
}

func prepare(t *testing.T, f *temporal, in contract.PrepareInput) (contract.PrepareResult, error) {
	t.Helper()
	var suite sdktest.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	control.Register(env, control.New(f, contract.FleetConfig{}))
	value, err := env.ExecuteActivity(contract.PrepareActivity, in)
	if err != nil {
		return contract.PrepareResult{}, err
	}
	var result contract.PrepareResult
	require.NoError(t, value.Get(&result))
	return result, nil
}

func input() contract.PrepareInput {
	return contract.PrepareInput{JobType: "scrub", Handler: "scrub", WorkflowID: "group/scrub-now", Scheduled: true}
}

func TestPrepareAsksTheRegistry(t *testing.T) {
	t.Parallel()
	f := &temporal{view: &contract.FleetView{Seq: 7, Workers: []contract.WorkerView{{ID: "a"}}}}
	result, err := prepare(t, f, input())
	require.NoError(t, err)
	assert.Equal(t, contract.PrepareResult{
		Workers: []contract.WorkerView{{ID: "a"}}, WorkersSeq: 7, Ticks: &contract.TickCounts{Skipped: 3, Missed: 1},
	}, result)
	assert.Empty(t, f.started)
}

func TestPrepareCreatesAMissingRegistry(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]*temporal{
		"never started": {},
		"terminated":    {closed: true, view: &contract.FleetView{Seq: 7, Workers: []contract.WorkerView{{ID: "of yesterday"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, err := prepare(t, f, input())
			require.NoError(t, err)
			assert.Empty(t, result.Workers)
			assert.Equal(t, []any{contract.FleetInput{Config: new(contract.FleetConfig{}.WithDefaults())}}, f.started)
		})
	}
}

func TestPrepareFailsIfTheRegistryCannotBeAsked(t *testing.T) {
	t.Parallel()
	_, err := prepare(t, &temporal{queryFault: serviceerror.NewUnavailable("no server")}, input())
	assert.ErrorContains(t, err, "ask the worker registry")
}

func TestPrepareFindsRunsWithoutRecord(t *testing.T) {
	t.Parallel()
	f := &temporal{view: &contract.FleetView{}}
	details, err := converter.GetDefaultDataConverter().ToPayloads(contract.JobGroupResult{
		Outcome: contract.OutcomeCanceled, Reason: "operator", Counts: contract.GroupCounts{Completed: 3}, StartedAt: t0, EndedAt: t0.Add(time.Second),
	})
	require.NoError(t, err)
	f.ran("good", enums.WORKFLOW_EXECUTION_STATUS_COMPLETED, nil)
	f.ran("recorded", enums.WORKFLOW_EXECUTION_STATUS_FAILED, nil)
	f.ran("killed", enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, &historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowExecutionTerminatedEventAttributes{
		WorkflowExecutionTerminatedEventAttributes: &historypb.WorkflowExecutionTerminatedEventAttributes{Identity: "ann", Reason: "stuck"},
	}})
	f.ran("broken", enums.WORKFLOW_EXECUTION_STATUS_FAILED, &historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowExecutionFailedEventAttributes{
		WorkflowExecutionFailedEventAttributes: &historypb.WorkflowExecutionFailedEventAttributes{Failure: &failurepb.Failure{Message: "a bug"}},
	}})
	f.ran("late", enums.WORKFLOW_EXECUTION_STATUS_TIMED_OUT, nil)
	f.ran("canceled", enums.WORKFLOW_EXECUTION_STATUS_CANCELED, &historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowExecutionCanceledEventAttributes{
		WorkflowExecutionCanceledEventAttributes: &historypb.WorkflowExecutionCanceledEventAttributes{Details: details},
	}})
	f.ran("running", enums.WORKFLOW_EXECUTION_STATUS_RUNNING, nil)
	f.ran("forgotten", enums.WORKFLOW_EXECUTION_STATUS_FAILED, nil)
	delete(f.runs, "forgotten")
	f.ran("group/scrub-now", enums.WORKFLOW_EXECUTION_STATUS_RUNNING, nil)
	f.ran("newer", enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, nil)

	in := input()
	in.Record.Bad = []contract.RunSummary{{WorkflowID: "recorded"}}
	result, err := prepare(t, f, in)
	require.NoError(t, err)
	end := t0.Add(time.Minute)
	assert.Equal(t, []contract.RunSummary{
		{WorkflowID: "killed", RunID: "run-killed", Outcome: contract.OutcomeFailed, Reason: "terminated by ann: stuck", StartedAt: t0, EndedAt: end, Terminated: &contract.Termination{By: "ann", Reason: "stuck"}},
		{WorkflowID: "broken", RunID: "run-broken", Outcome: contract.OutcomeFailed, Reason: "its workflow failed: a bug", StartedAt: t0, EndedAt: end},
		{WorkflowID: "late", RunID: "run-late", Outcome: contract.OutcomeTimeout, Reason: "its workflow timed out", StartedAt: t0, EndedAt: end},
		{WorkflowID: "canceled", RunID: "run-canceled", Outcome: contract.OutcomeCanceled, Reason: "canceled: operator", StartedAt: t0, EndedAt: t0.Add(time.Second), Counts: contract.GroupCounts{Completed: 3}},
	}, result.Missed)
	assert.NotContains(t, f.described, "recorded", "what is recorded is not asked for")
	assert.NotContains(t, f.described, "newer", "what started later is not this group's business")
}

// TestPrepareFindsTheNewestRecord: a failed run left the record, which includes the earlier
// runs.
func TestPrepareFindsTheNewestRecord(t *testing.T) {
	t.Parallel()
	f := &temporal{view: &contract.FleetView{}}
	details, err := converter.GetDefaultDataConverter().ToPayloads(contract.JobGroupResult{
		Outcome: contract.OutcomeTimeout, Record: contract.RunRecord{Sequence: 4, Bad: []contract.RunSummary{{WorkflowID: "killed"}, {WorkflowID: "failed"}}},
	})
	require.NoError(t, err)
	f.ran("killed", enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, nil)
	f.ran("failed", enums.WORKFLOW_EXECUTION_STATUS_FAILED, &historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowExecutionFailedEventAttributes{
		WorkflowExecutionFailedEventAttributes: &historypb.WorkflowExecutionFailedEventAttributes{Failure: &failurepb.Failure{
			Message: "red", FailureInfo: &failurepb.Failure_ApplicationFailureInfo{ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{Type: contract.RunFailedError, Details: details}},
		}},
	}})
	f.ran("late", enums.WORKFLOW_EXECUTION_STATUS_TIMED_OUT, nil)
	f.ran("group/scrub-now", enums.WORKFLOW_EXECUTION_STATUS_RUNNING, nil)
	in := input()
	in.Record.Sequence = 2
	result, err := prepare(t, f, in)
	require.NoError(t, err)
	require.NotNil(t, result.Record)
	assert.EqualValues(t, 4, result.Record.Sequence)
	require.Len(t, result.Missed, 1)
	assert.Equal(t, "late", result.Missed[0].WorkflowID)
}

func TestPrepareWithoutScheduleHasNoPast(t *testing.T) {
	t.Parallel()
	f := &temporal{view: &contract.FleetView{}, noSchedule: true}
	result, err := prepare(t, f, input())
	require.NoError(t, err)
	assert.Empty(t, result.Missed)

	f = &temporal{view: &contract.FleetView{}}
	f.ran("killed", enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, nil)
	in := input()
	in.Scheduled = false
	result, err = prepare(t, f, in)
	require.NoError(t, err)
	assert.Empty(t, result.Missed)
}

func TestEnsureFleet(t *testing.T) {
	t.Parallel()
	f := &temporal{}
	c := control.New(f, contract.FleetConfig{})
	require.NoError(t, c.EnsureFleet(t.Context(), contract.EnsureFleetInput{}))
	assert.Empty(t, f.signals)
	watch := contract.WatchFleetInput{WorkflowID: "group/scrub-now", Handler: "scrub"}
	require.NoError(t, c.EnsureFleet(t.Context(), contract.EnsureFleetInput{Watch: &watch}))
	assert.Equal(t, []string{contract.SignalWatchFleet}, f.signals)
	assert.Equal(t, []contract.WatchFleetInput{watch}, f.watched)
	assert.Len(t, f.started, 2)
	f.fault = errors.New("no server")
	assert.ErrorContains(t, c.EnsureFleet(t.Context(), contract.EnsureFleetInput{}), "start the worker registry")
}

func (f *temporal) SignalWorkflow(_ context.Context, id, _, name string, _ any) error {
	f.told = append(f.told, id+" "+name)
	return f.fault
}

// TestEnsureAdmission: a new admission inherits the state of an ended one.
func TestEnsureAdmission(t *testing.T) {
	t.Parallel()
	request := contract.EnsureAdmissionInput{Request: &contract.AdmissionRequest{JobType: "scrub"}}
	f := &temporal{durable: []byte("sizes of ")}
	c := control.New(f, contract.FleetConfig{})
	require.NoError(t, c.EnsureAdmission(t.Context(), request))
	assert.Equal(t, []any{contract.AdmissionInput{}}, f.started, "there was none before")

	f.runs = map[string]run{contract.AdmissionWorkflowID: {status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING}}
	require.NoError(t, c.EnsureAdmission(t.Context(), contract.EnsureAdmissionInput{}))
	require.NoError(t, c.EnsureAdmission(t.Context(), request))
	assert.Len(t, f.started, 1)
	assert.Equal(t, []string{"admission request"}, f.told)
	f.fault = errors.New("just ended")
	require.ErrorContains(t, c.EnsureAdmission(t.Context(), request), "tell admission: just ended")

	f.fault = nil
	f.runs = map[string]run{contract.AdmissionWorkflowID: {status: enums.WORKFLOW_EXECUTION_STATUS_TERMINATED}}
	require.NoError(t, c.EnsureAdmission(t.Context(), request))
	assert.Equal(t, contract.AdmissionInput{Inherited: contract.Inherited{Data: []byte("sizes of run-admission"), From: "run-admission", Passed: []string{"run-admission"}}}, f.started[1])

	f.queryFault = errors.New("its history is gone")
	require.NoError(t, c.EnsureAdmission(t.Context(), contract.EnsureAdmissionInput{}))
	started, ok := f.started[2].(contract.AdmissionInput)
	require.True(t, ok)
	assert.Empty(t, started.Inherited.Data)
	assert.Contains(t, started.Inherited.Fault, "its history is gone")
}

func (f *temporal) UpdateWorkflow(_ context.Context, options client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	f.updated = append(f.updated, options.WorkflowID+" "+options.UpdateName)
	if f.updateFault != nil {
		return nil, f.updateFault
	}
	return granting{}, nil
}

type granting struct{ client.WorkflowUpdateHandle }

func (granting) Get(_ context.Context, result any) error {
	if answer, ok := result.(*contract.AdmissionAnswer); ok {
		answer.Granted = []contract.AdmissionGrant{{ID: "lane", Fence: 7}}
	}
	return nil
}

func TestCallOfAdmission(t *testing.T) {
	t.Parallel()
	wants := contract.AdmissionRequest{Items: []contract.AdmissionItem{{ID: "lane", Lane: "default"}}}
	busy, missing := errors.New("busy"), serviceerror.NewNotFound("no admission")
	for name, c := range map[string]struct {
		request              contract.AdmissionRequest
		updateFault, fault   error
		updated, told        []string
		granted, none, fails bool
	}{
		"answered":           {request: wants, updated: []string{"admission call"}, granted: true},
		"too busy to answer": {request: wants, updateFault: busy, updated: []string{"admission call"}, told: []string{"admission request"}},
		"missing":            {request: wants, updateFault: missing, updated: []string{"admission call"}, none: true},
		"released":           {request: contract.AdmissionRequest{ReleaseAll: true}, told: []string{"admission request"}},
		"nobody to tell":     {request: contract.AdmissionRequest{ReleaseAll: true}, fault: missing, told: []string{"admission request"}, none: true},
		"away":               {request: wants, updateFault: busy, fault: busy, updated: []string{"admission call"}, told: []string{"admission request"}, fails: true},
	} {
		f := &temporal{fault: c.fault, updateFault: c.updateFault}
		result, err := control.New(f, contract.FleetConfig{}).CallAdmission(t.Context(), c.request)
		assert.Equal(t, c.fails, err != nil, name)
		assert.Equal(t, c.granted, result.Answer != nil && result.Answer.Granted[0].Fence == 7, name)
		assert.Equal(t, c.none, result.Missing, name)
		assert.Equal(t, c.updated, f.updated, name)
		assert.Equal(t, c.told, f.told, name)
	}
}

// TestPrepareWithinATaskIsBounded: the record of a workflow task must not end the workflow.
func TestPrepareWithinATaskIsBounded(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{1, 4000} {
		f := &temporal{view: &contract.FleetView{Workers: make([]contract.WorkerView, workers)}}
		for i := range f.view.Workers {
			f.view.Workers[i].ID = strings.Repeat("w", 300)
		}
		var suite sdktest.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		c := control.New(f, contract.FleetConfig{})
		env.RegisterActivityWithOptions(c.Prepare, activity.RegisterOptions{Name: contract.PrepareActivity})
		_, err := env.ExecuteActivity(contract.PrepareActivity, contract.PrepareInput{})
		require.NoError(t, err, "an activity's result is the server's to refuse")
		_, err = env.ExecuteLocalActivity(c.Prepare, contract.PrepareInput{})
		assert.Equal(t, workers > 1, err != nil, "%d workers: %v", workers, err)
	}
}
