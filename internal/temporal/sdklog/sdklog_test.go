package sdklog_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	querypb "go.temporal.io/api/query/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/internal/temporal/sdklog"
)

// frontend returns one query task with the history of a run that has just completed an update, and the state
// before it. A server sends this if the update completes between its two reads.
type frontend struct {
	workflowservice.UnimplementedWorkflowServiceServer

	task   *workflowservice.PollWorkflowTaskQueueResponse
	once   sync.Once
	answer chan *workflowservice.RespondQueryTaskCompletedRequest
}

func (f *frontend) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{Capabilities: &workflowservice.GetSystemInfoResponse_Capabilities{}}, nil
}

func (f *frontend) DescribeNamespace(context.Context, *workflowservice.DescribeNamespaceRequest) (*workflowservice.DescribeNamespaceResponse, error) {
	return &workflowservice.DescribeNamespaceResponse{NamespaceInfo: &namespacepb.NamespaceInfo{Name: "default"}}, nil
}

func (f *frontend) PollWorkflowTaskQueue(ctx context.Context, _ *workflowservice.PollWorkflowTaskQueueRequest) (*workflowservice.PollWorkflowTaskQueueResponse, error) {
	var task *workflowservice.PollWorkflowTaskQueueResponse
	f.once.Do(func() { task = f.task })
	if task != nil {
		return task, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (f *frontend) RespondQueryTaskCompleted(_ context.Context, in *workflowservice.RespondQueryTaskCompletedRequest) (*workflowservice.RespondQueryTaskCompletedResponse, error) {
	f.answer <- in
	return &workflowservice.RespondQueryTaskCompletedResponse{}, nil
}

// registry is a workflow that sends a signal in an update, like the fleet.
func registry(ctx workflow.Context) error {
	changed := false
	err := workflow.SetUpdateHandler(ctx, "register", func(ctx workflow.Context) error {
		changed = true
		workflow.SignalExternalWorkflow(ctx, "watcher", "", "changed", nil)
		return nil
	})
	if err != nil {
		return err
	}
	if err := workflow.SetQueryHandler(ctx, "changed", func() (bool, error) { return changed, nil }); err != nil {
		return err
	}
	return workflow.Await(ctx, func() bool { return false })
}

func events() []*historypb.HistoryEvent {
	queue := &taskqueuepb.TaskQueue{Name: "control"}
	list := []*historypb.HistoryEvent{
		{EventType: enums.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{WorkflowType: &commonpb.WorkflowType{Name: "registry"}, TaskQueue: queue}}},
		{EventType: enums.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED},
		{EventType: enums.EVENT_TYPE_WORKFLOW_TASK_STARTED},
		{EventType: enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, Attributes: &historypb.HistoryEvent_WorkflowTaskCompletedEventAttributes{WorkflowTaskCompletedEventAttributes: &historypb.WorkflowTaskCompletedEventAttributes{ScheduledEventId: 2, StartedEventId: 3}}},
		{EventType: enums.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED},
		{EventType: enums.EVENT_TYPE_WORKFLOW_TASK_STARTED},
		{EventType: enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, Attributes: &historypb.HistoryEvent_WorkflowTaskCompletedEventAttributes{WorkflowTaskCompletedEventAttributes: &historypb.WorkflowTaskCompletedEventAttributes{ScheduledEventId: 5, StartedEventId: 6}}},
		{EventType: enums.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED, Attributes: &historypb.HistoryEvent_WorkflowExecutionUpdateAcceptedEventAttributes{WorkflowExecutionUpdateAcceptedEventAttributes: &historypb.WorkflowExecutionUpdateAcceptedEventAttributes{
			ProtocolInstanceId: "u", AcceptedRequestMessageId: "u/request", AcceptedRequestSequencingEventId: 5,
			AcceptedRequest: &updatepb.Request{Meta: &updatepb.Meta{UpdateId: "u"}, Input: &updatepb.Input{Name: "register"}},
		}}},
		{EventType: enums.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED, Attributes: &historypb.HistoryEvent_SignalExternalWorkflowExecutionInitiatedEventAttributes{SignalExternalWorkflowExecutionInitiatedEventAttributes: &historypb.SignalExternalWorkflowExecutionInitiatedEventAttributes{
			WorkflowTaskCompletedEventId: 7, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: "watcher"}, SignalName: "changed", Control: "8", //nolint:staticcheck // the server of today writes it
		}}},
		{EventType: enums.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED, Attributes: &historypb.HistoryEvent_WorkflowExecutionUpdateCompletedEventAttributes{WorkflowExecutionUpdateCompletedEventAttributes: &historypb.WorkflowExecutionUpdateCompletedEventAttributes{
			Meta: &updatepb.Meta{UpdateId: "u"}, AcceptedEventId: 8, Outcome: &updatepb.Outcome{Value: &updatepb.Outcome_Success{}},
		}}},
	}
	for i, event := range list {
		event.EventId = int64(i + 1)
	}
	return list
}

// query lets a worker answer the query, and returns the answer and the log. previous is the id of the last
// workflow task that the server had recorded as completed.
func query(t *testing.T, previous int64) (*workflowservice.RespondQueryTaskCompletedRequest, string) {
	t.Helper()
	f := &frontend{answer: make(chan *workflowservice.RespondQueryTaskCompletedRequest, 1), task: &workflowservice.PollWorkflowTaskQueueResponse{
		TaskToken: []byte("t"), WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: "fleet", RunId: "r"}, WorkflowType: &commonpb.WorkflowType{Name: "registry"},
		Attempt: 1, PreviousStartedEventId: previous, History: &historypb.History{Events: events()}, Query: &querypb.WorkflowQuery{QueryType: "changed"},
	}}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(server, f)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	var text buffer
	c, err := client.DialContext(t.Context(), client.Options{HostPort: listener.Addr().String(), WorkerHeartbeatInterval: -1, Logger: log.NewStructuredLogger(sdklog.New(slog.New(slog.NewTextHandler(&text, nil))))})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	w := worker.New(c, "control", worker.Options{WorkerStopTimeout: time.Second})
	w.RegisterWorkflowWithOptions(registry, workflow.RegisterOptions{Name: "registry"})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	select {
	case answer := <-f.answer:
		return answer, text.String()
	case <-time.After(2 * time.Minute):
		t.Fatalf("no answer: %s", text.String())
		return nil, ""
	}
}

type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// The SDK panics, because it takes the update's task for a new one and drops the update. The caller gets the
// error, and operators get no alarm.
func TestAQueryThatRacesWithAnUpdate(t *testing.T) {
	t.Parallel()
	answer, text := query(t, 6)
	assert.Equal(t, enums.QUERY_RESULT_TYPE_ANSWERED, answer.GetCompletedType(), "without the race: %s", answer.GetErrorMessage())
	assert.NotContains(t, text, "panic")

	answer, text = query(t, 3)
	assert.Equal(t, enums.QUERY_RESULT_TYPE_FAILED, answer.GetCompletedType())
	assert.Contains(t, answer.GetErrorMessage(), "TMPRL1100")
	assert.NotContains(t, text, "TMPRL1100")
}

func TestARepeatedPanicIsAnError(t *testing.T) {
	t.Parallel()
	var text buffer
	logger := sdklog.New(slog.New(slog.NewTextHandler(&text, nil))).With("Namespace", "default")
	logger.Error("Workflow panic", "Attempt", int32(1))
	logger.Error("something else", "Attempt", int32(1))
	logger.Error("Workflow panic", "Attempt", int32(2))
	assert.Equal(t, 1, strings.Count(text.String(), "Workflow panic"))
	assert.Contains(t, text.String(), `level=ERROR msg="something else"`)
	assert.Contains(t, text.String(), `level=ERROR msg="Workflow panic" Namespace=default Attempt=2`)
}
