package control_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	updatepb "go.temporal.io/api/update/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdktemporal "go.temporal.io/sdk/temporal"
	sdktest "go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/activities/control"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// auditServer is the part of the server that recording needs.
type auditServer struct {
	control.Client

	// history of the sender, oldest first; the server returns it backwards, two events a page.
	history []*historypb.HistoryEvent
	// status of the log's newest run; unspecified means none.
	status enums.WorkflowExecutionStatus
	// log is the query result of the closed run, last its last event, listed the runs in
	// visibility, the running one first.
	log    []byte
	last   *historypb.HistoryEvent
	listed []string
	later  []string // from the second look on
	looked int
	read   int
	fault  error

	recorded []contract.AuditRecord
	inputs   []contract.AuditInput
	asked    []string
}

func (s *auditServer) WorkflowService() workflowservice.WorkflowServiceClient {
	return auditCalls{server: s}
}

// auditCalls are the server's calls that the SDK does not wrap.
type auditCalls struct {
	workflowservice.WorkflowServiceClient

	server *auditServer
}

func (s auditCalls) GetWorkflowExecutionHistoryReverse(_ context.Context, in *workflowservice.GetWorkflowExecutionHistoryReverseRequest, _ ...grpc.CallOption) (*workflowservice.GetWorkflowExecutionHistoryReverseResponse, error) {
	s.server.read++
	end := len(s.server.history)
	if token := in.GetNextPageToken(); len(token) > 0 {
		end = int(token[0])
	}
	page := &workflowservice.GetWorkflowExecutionHistoryReverseResponse{History: &historypb.History{}}
	for i := end - 1; i >= max(end-2, 0); i-- {
		page.History.Events = append(page.History.Events, s.server.history[i])
	}
	if end > 2 {
		page.NextPageToken = []byte{byte(end - 2)}
	}
	return page, nil
}

func (s auditCalls) ListWorkflowExecutions(context.Context, *workflowservice.ListWorkflowExecutionsRequest, ...grpc.CallOption) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	s.server.looked++
	found := &workflowservice.ListWorkflowExecutionsResponse{}
	for i, id := range s.server.listed {
		status := enums.WORKFLOW_EXECUTION_STATUS_TERMINATED
		if i == 0 {
			status = enums.WORKFLOW_EXECUTION_STATUS_RUNNING
		}
		found.Executions = append(found.Executions, &workflowpb.WorkflowExecutionInfo{Status: status, Execution: &commonpb.WorkflowExecution{WorkflowId: contract.AuditWorkflowID, RunId: id}})
	}
	if len(s.server.later) > 0 {
		s.server.listed, s.server.later = s.server.later, nil
	}
	return found, nil
}

func (s *auditServer) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if s.status == enums.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED {
		return nil, serviceerror.NewNotFound("none")
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: contract.AuditWorkflowID, RunId: "newest"}, Status: s.status,
	}}, nil
}

func (s *auditServer) SignalWithStartWorkflow(_ context.Context, _, _ string, arg any, _ client.StartWorkflowOptions, _ any, args ...any) (client.WorkflowRun, error) {
	if record, ok := arg.(contract.AuditRecord); ok {
		s.recorded = append(s.recorded, record)
	}
	if input, ok := args[0].(contract.AuditInput); ok {
		s.inputs = append(s.inputs, input)
	}
	return nil, s.fault
}

func (s *auditServer) QueryWorkflowWithOptions(_ context.Context, in *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	s.asked = append(s.asked, in.RunID)
	if s.log == nil {
		return nil, serviceerror.NewNotFound("beyond retention")
	}
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(s.log)
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}, err
}

func (s *auditServer) GetWorkflowHistory(context.Context, string, string, bool, enums.HistoryEventFilterType) client.HistoryEventIterator {
	return &events{last: s.last}
}

func (s *auditServer) record(t *testing.T, in contract.RecordAuditInput) error {
	t.Helper()
	var suite sdktest.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	control.Register(env, control.New(s, contract.FleetConfig{}, control.WithAuditEntries(250), control.WithAuditAge(jobtype.Duration(time.Hour))))
	_, err := env.ExecuteActivity(contract.RecordAuditActivity, in)
	return err
}

func (s *auditServer) adopt(t *testing.T, in contract.AdoptAuditInput) (contract.AdoptAuditResult, error) {
	t.Helper()
	var suite sdktest.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	control.Register(env, control.New(s, contract.FleetConfig{}, control.WithVisibilityLag(time.Millisecond)))
	value, err := env.ExecuteActivity(contract.AdoptAuditActivity, in)
	var result contract.AdoptAuditResult
	if err == nil {
		require.NoError(t, value.Get(&result))
	}
	return result, err
}

func signaled(id int64, name, identity string) *historypb.HistoryEvent {
	return &historypb.HistoryEvent{EventId: id, Attributes: &historypb.HistoryEvent_WorkflowExecutionSignaledEventAttributes{
		WorkflowExecutionSignaledEventAttributes: &historypb.WorkflowExecutionSignaledEventAttributes{SignalName: name, Identity: identity},
	}}
}

func updated(id int64, update, identity string) *historypb.HistoryEvent {
	return &historypb.HistoryEvent{EventId: id, Attributes: &historypb.HistoryEvent_WorkflowExecutionUpdateAcceptedEventAttributes{
		WorkflowExecutionUpdateAcceptedEventAttributes: &historypb.WorkflowExecutionUpdateAcceptedEventAttributes{
			AcceptedRequest: &updatepb.Request{Meta: &updatepb.Meta{UpdateId: update, Identity: identity}},
		},
	}}
}

// TestSendersAreFound: each entry gets its own sender, in any form of its identity. A sender in
// the message stays.
func TestSendersAreFound(t *testing.T) {
	t.Parallel()
	s := &auditServer{status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING, history: []*historypb.HistoryEvent{
		signaled(3, "pause", "temporal-cli:ann@desk"),
		signaled(4, "cancel-job", "roundsman:bob@console"),
		signaled(5, "cancel-job", "temporal-cli:eve@host@domain"),
		updated(8, "u1", "4711@worker@"),
		{EventId: 9, Attributes: &historypb.HistoryEvent_WorkflowExecutionCancelRequestedEventAttributes{
			WorkflowExecutionCancelRequestedEventAttributes: &historypb.WorkflowExecutionCancelRequestedEventAttributes{Identity: "web"},
		}},
		signaled(12, "cancel-job", "later"),
	}}
	at := func(entry int, origin contract.AuditOrigin) contract.AuditOrigin {
		origin.Entry, origin.WorkflowID, origin.EventID = entry, "group/x", 7
		return origin
	}
	require.NoError(t, s.record(t, contract.RecordAuditInput{
		Entries: []contract.AuditEntry{{Action: "pause"}, {Action: "first"}, {Action: "second"}, {Action: "update", Actor: "said"}, {Action: "cancel"}, {Action: "lost"}, {Action: "none"}},
		Origins: []contract.AuditOrigin{
			at(0, contract.AuditOrigin{Signal: "pause"}),
			at(1, contract.AuditOrigin{Signal: "cancel-job", Back: 1}),
			at(2, contract.AuditOrigin{Signal: "cancel-job"}),
			at(3, contract.AuditOrigin{UpdateID: "u1"}),
			{Entry: 4, EventID: 11, Cancel: true},
			at(5, contract.AuditOrigin{Signal: "resume"}),
			{Entry: 99},
		},
	}))
	require.Len(t, s.recorded, 1)
	assert.LessOrEqual(t, s.read, len(s.history), "two histories, two events a page: each is read once, not once for each entry")
	var who []string
	for _, entry := range s.recorded[0].Entries {
		who = append(who, entry.Actor+"/"+entry.From)
	}
	assert.Equal(t, []string{"ann/desk (temporal CLI)", "bob/console", "eve@host/domain (temporal CLI)", "said/4711@worker@", "/web", "/", "/"}, who)
	assert.Equal(t, 250, s.recorded[0].Keep)
	assert.Equal(t, jobtype.Duration(time.Hour), s.recorded[0].MaxAge)
	assert.Empty(t, s.inputs[0].Previous)
}

func TestRecordTellsTheNextLogWhichOneWasClosed(t *testing.T) {
	t.Parallel()
	s := &auditServer{status: enums.WORKFLOW_EXECUTION_STATUS_TERMINATED}
	entries := make([]contract.AuditEntry, 450)
	require.NoError(t, s.record(t, contract.RecordAuditInput{Entries: entries}))
	if len(s.recorded) != 5 { // The entries are too large to print.
		t.Errorf("%d parts travel", len(s.recorded))
	}
	assert.Equal(t, contract.AuditInput{Keep: 250, Previous: "newest"}, s.inputs[0])
	s.fault = serviceerror.NewInvalidArgument("too large")
	err := s.record(t, contract.RecordAuditInput{Entries: entries[:1]})
	var application *sdktemporal.ApplicationError
	require.ErrorAs(t, err, &application)
	assert.True(t, application.NonRetryable(), "it would be refused for ever")
	s.fault = errors.New("away")
	require.ErrorAs(t, s.record(t, contract.RecordAuditInput{Entries: entries[:1]}), &application)
	assert.False(t, application.NonRetryable())
}

// unreadable is a server that has the log, but cannot read its history.
type unreadable struct{ *auditServer }

func (unreadable) GetWorkflowHistory(context.Context, string, string, bool, enums.HistoryEventFilterType) client.HistoryEventIterator {
	return broken{}
}

type broken struct{}

func (broken) HasNext() bool { return true }

func (broken) Next() (*historypb.HistoryEvent, error) {
	return nil, serviceerror.NewUnavailable("the server is busy")
}

// TestALogOutlivesAnUnreadableEnd: the last attempt takes the log without the entry about its end.
func TestALogOutlivesAnUnreadableEnd(t *testing.T) {
	t.Parallel()
	var suite sdktest.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	s := &auditServer{log: []byte("the log")}
	control.Register(env, control.New(unreadable{s}, contract.FleetConfig{}))
	env.ExecuteWorkflow(func(ctx workflow.Context) (result contract.AdoptAuditResult, err error) {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute, RetryPolicy: &sdktemporal.RetryPolicy{MaximumAttempts: contract.AdoptAuditAttempts}})
		err = workflow.ExecuteActivity(ctx, contract.AdoptAuditActivity, contract.AdoptAuditInput{Previous: "before", RunID: "me"}).Get(ctx, &result)
		return result, err
	})
	require.NoError(t, env.GetWorkflowError())
	var result contract.AdoptAuditResult
	require.NoError(t, env.GetWorkflowResult(&result))
	assert.Equal(t, contract.AdoptAuditResult{Log: []byte("the log")}, result)
	assert.Len(t, s.asked, contract.AdoptAuditAttempts)
}

func TestTerminatedLogIsTakenOver(t *testing.T) {
	t.Parallel()
	s := &auditServer{log: []byte("the log"), last: &historypb.HistoryEvent{
		EventTime: timestamppb.New(t0), Attributes: &historypb.HistoryEvent_WorkflowExecutionTerminatedEventAttributes{
			WorkflowExecutionTerminatedEventAttributes: &historypb.WorkflowExecutionTerminatedEventAttributes{Identity: "temporal-cli:ann@desk", Reason: "by mistake"},
		},
	}}
	result, err := s.adopt(t, contract.AdoptAuditInput{Previous: "before", RunID: "me"})
	require.NoError(t, err)
	assert.Equal(t, "the log", string(result.Log))
	require.NotNil(t, result.Entry)
	assert.Equal(t, []string{"audit.terminate", "ann", "by mistake"}, []string{result.Entry.Action, result.Entry.Actor, result.Entry.Detail})
	assert.True(t, result.Entry.At.Equal(t0.Truncate(time.Nanosecond)))

	s.last = &historypb.HistoryEvent{EventId: 9, EventTime: timestamppb.New(t0), Attributes: &historypb.HistoryEvent_WorkflowExecutionCanceledEventAttributes{
		WorkflowExecutionCanceledEventAttributes: &historypb.WorkflowExecutionCanceledEventAttributes{},
	}}
	s.history = []*historypb.HistoryEvent{{EventId: 7, Attributes: &historypb.HistoryEvent_WorkflowExecutionCancelRequestedEventAttributes{
		WorkflowExecutionCancelRequestedEventAttributes: &historypb.WorkflowExecutionCancelRequestedEventAttributes{Identity: "temporal-cli:bob@desk"},
	}}, s.last}
	result, err = s.adopt(t, contract.AdoptAuditInput{Previous: "before"})
	require.NoError(t, err)
	assert.Equal(t, []string{"audit.cancel", "bob"}, []string{result.Entry.Action, result.Entry.Actor})

	s.asked, s.listed = nil, []string{"me", "found"}
	_, err = s.adopt(t, contract.AdoptAuditInput{RunID: "me"})
	require.NoError(t, err)
	assert.Equal(t, []string{"found"}, s.asked, "not itself")
	s.log = nil
	result, err = s.adopt(t, contract.AdoptAuditInput{Previous: "gone"})
	require.NoError(t, err)
	assert.Equal(t, contract.AdoptAuditResult{}, result, "the server has it no more")
	s.asked, s.listed, s.later = nil, []string{"before", "older"}, []string{"me", "before", "older"}
	_, err = s.adopt(t, contract.AdoptAuditInput{RunID: "me"})
	require.NoError(t, err)
	assert.Equal(t, []string{"before"}, s.asked, "the log before still looks open; the one before that lacks its entries")
	s.listed, s.looked = nil, 0
	result, err = s.adopt(t, contract.AdoptAuditInput{RunID: "me"})
	require.NoError(t, err)
	assert.Equal(t, contract.AdoptAuditResult{}, result, "there was none")
	assert.Equal(t, 20, s.looked, "visibility lags")
	_, err = s.adopt(t, contract.AdoptAuditInput{RunID: "me", First: true})
	require.NoError(t, err)
	assert.Equal(t, 20, s.looked, "its starter knows")
}
