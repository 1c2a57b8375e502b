package app

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

// twoTypes is a server with the job types scrub, of handler scrub, and shell, of handler command.
type twoTypes struct{ idle }

func (twoTypes) DescribeSchedule(_ context.Context, in *workflowservice.DescribeScheduleRequest) (*workflowservice.DescribeScheduleResponse, error) {
	if in.GetScheduleId() == contract.ScheduleID("fresh") {
		return nil, status.Error(codes.NotFound, "there is no such Schedule")
	}
	spec := contract.JobTypeSpec{Name: "scrub", Handler: "scrub"}
	if in.GetScheduleId() == contract.ScheduleID("shell") {
		spec = contract.JobTypeSpec{Name: "shell", Handler: contract.CommandHandler}
	}
	stored, err := starter.DataConverter().ToPayloads(contract.JobGroupInput{Spec: spec})
	if err != nil {
		return nil, err
	}
	owner, err := starter.DataConverter().ToPayload("roundsman")
	if err != nil {
		return nil, err
	}
	return &workflowservice.DescribeScheduleResponse{
		Memo: &commonpb.Memo{Fields: map[string]*commonpb.Payload{"managed_by": owner}},
		Schedule: &schedulepb.Schedule{Action: &schedulepb.ScheduleAction{Action: &schedulepb.ScheduleAction_StartWorkflow{
			StartWorkflow: &workflowpb.NewWorkflowExecutionInfo{Input: stored},
		}}},
	}, nil
}

// GetWorkflowExecutionHistory has runs of both. The run of scrub at 2:00 was started while scrub had handler
// command.
func (twoTypes) GetWorkflowExecutionHistory(_ context.Context, in *workflowservice.GetWorkflowExecutionHistoryRequest) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	id := in.GetExecution().GetWorkflowId()
	started := contract.JobGroupInput{Spec: contract.JobTypeSpec{Name: "scrub", Handler: "scrub"}}
	switch {
	case strings.HasPrefix(id, "group/shell-"):
		started.Spec = contract.JobTypeSpec{Name: "shell", Handler: contract.CommandHandler}
	case id == "group/scrub-2026-11-22T02:00:00Z":
		started.Spec.Handler = contract.CommandHandler
	case id == "group/scrub-2026-11-22T03:00:00Z":
		started.Submission = &contract.Submission{Proposals: []jobtype.Proposal{{DAG: "version: 1\nname: d\ntasks: [{id: a, command: [id]}]\n"}}}
	case id == "group/scrub-2026-11-22T04:00:00Z":
		return nil, status.Error(codes.NotFound, "there is no such run")
	case !strings.HasPrefix(id, "group/scrub-"):
		return nil, status.Error(codes.Unimplemented, "only runs of job types")
	}
	input, err := starter.DataConverter().ToPayloads(started)
	if err != nil {
		return nil, err
	}
	return &workflowservice.GetWorkflowExecutionHistoryResponse{History: &historypb.History{Events: []*historypb.HistoryEvent{{
		EventId: 1, EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
		Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
			WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{Input: input},
		},
	}}}}, nil
}

// A run counts with the handlers of its start, even if its job type has another one now.
func TestARunIsJudgedByTheHandlersItWasStartedWith(t *testing.T) {
	t.Parallel()
	handler := byHandlerAPI(t).Handler()
	for _, row := range []struct {
		who, run, want string
	}{
		{"scrubber", "scrub-2026-11-22T01:00:00Z", "allowed"},
		{"scrubber", "scrub-2026-11-22T02:00:00Z", "403"},
		{"scrubber", "scrub-2026-11-22T03:00:00Z", "403"}, // A proposal has a DAG.
		{"scrubber", "scrub-2026-11-22T04:00:00Z", "404"},
		{"shells", "shell-2026-11-22T01:00:00Z", "allowed"},
		{"shells", "scrub-2026-11-22T02:00:00Z", "403"}, // A retry executes scrub.
		{"admin", "scrub-2026-11-22T02:00:00Z", "allowed"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, api.Prefix+"/runs/"+row.run+"/cancel", strings.NewReader("{}"))
		r.Host = "localhost"
		r.Header.Set("Who", row.who)
		r.Header.Set("Content-Type", "application/json")
		recorded := httptest.NewRecorder()
		handler.ServeHTTP(recorded, r)
		switch row.want {
		case "allowed":
			assert.NotContains(t, []int{http.StatusForbidden, http.StatusNotFound, http.StatusUnprocessableEntity}, recorded.Code, "%+v: %s", row, recorded.Body)
		default:
			assert.Equal(t, row.want, strconv.Itoa(recorded.Code), "%+v: %s", row, recorded.Body)
		}
	}
}

// byHandlerAPI has an administrator and a worker for handler scrub only.
func byHandlerAPI(t *testing.T) *api.API {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(server, twoTypes{})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	client, err := starter.Dial(t.Context(), starter.Options{Address: listener.Addr().String(), HeartbeatInterval: -1})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	var roles access.Policy
	return api.New(api.Options{
		Client: client, Extra: extraOperations(nil, false),
		Auth: byHeader{
			"scrubber": roles.Grant(access.Admin, nil, nil, "scrub"), "admin": roles.Grant(access.Admin, nil, nil),
			"shells": roles.Grant(access.Admin, nil, nil, "command"), "node": roles.Grant(access.Worker, nil, nil, "scrub"),
		},
	})
}

func (twoTypes) ListSchedules(context.Context, *workflowservice.ListSchedulesRequest) (*workflowservice.ListSchedulesResponse, error) {
	return &workflowservice.ListSchedulesResponse{}, nil
}

// A document, a proposal's DAG and a registration may not introduce another handler.
func TestRightsByHandlerHoldForDocuments(t *testing.T) {
	t.Parallel()
	handler := byHandlerAPI(t).Handler()
	ask := func(who, path string, body any, header ...string) *httptest.ResponseRecorder {
		encoded, err := json.Marshal(body)
		require.NoError(t, err)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, api.Prefix+path, bytes.NewReader(encoded))
		r.Host = "localhost"
		r.Header.Set("Who", who)
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		recorded := httptest.NewRecorder()
		func() {
			defer func() { _ = recover() }() // Without a gateway, allowed registrations panic.
			handler.ServeHTTP(recorded, r)
		}()
		return recorded
	}
	type object = map[string]any
	const command, typed = "version: 1\nname: d\ntasks: [{id: a, command: [id]}]\n", "version: 1\nname: d\ntasks: [{id: a, job_type: shell}]\n"
	fans := "version: 1\nname: d\ntasks: [{id: a, job_type: shell, for_each: [x, y]}]\n"
	capable := func(handlers ...string) object {
		list := []object{}
		for _, h := range handlers {
			list = append(list, object{"handler": h, "execute": true})
		}
		return object{"id": "far", "capabilities": list}
	}
	for _, row := range []struct {
		who, path string
		body      object
		refused   bool
	}{
		{"scrubber", "/dag-runs?dry_run=true", object{"document": command}, true},
		{"scrubber", "/dag-runs?dry_run=true", object{"document": typed}, true},
		{"scrubber", "/dag-runs?dry_run=true", object{"document": fans}, true},
		{"admin", "/dag-runs?dry_run=true", object{"document": command}, false},
		{"shells", "/dag-runs?dry_run=true", object{"document": typed}, false},
		{"scrubber", "/job-types/scrub/submissions?dry_run=true", object{"proposals": []object{{"summary": "x", "dag": command}}}, true},
		{"admin", "/job-types/scrub/submissions?dry_run=true", object{"proposals": []object{{"summary": "x", "dag": command}}}, false},
		{"scrubber", "/keys", object{"name": "x", "role": "admin"}, true},
		{"node", "/workers/register", capable("scrub", "command"), true},
		{"node", "/workers/register", capable("scrub"), false},
	} {
		recorded := ask(row.who, row.path, row.body)
		assert.Equal(t, row.refused, recorded.Code == http.StatusForbidden, "%s %s %v: %s", row.who, row.path, row.body, recorded.Body)
	}
	for handler, refused := range map[string]bool{"command": true, "scrub": false} {
		document := object{"document": "version: 1\njob_types:\n  fresh:\n    handler: " + handler + "\n    schedule: {every: 1h}\n"}
		planned := ask("scrubber", "/plan?allow_unregistered=true", document)
		require.Equal(t, http.StatusOK, planned.Code, "%s", planned.Body)
		for path, header := range map[string]string{"/apply": planned.Header().Get("ETag"), "/plan/detect": "x"} {
			recorded := ask("scrubber", path+"?allow_unregistered=true", document, "If-Match", header)
			assert.Equal(t, refused, recorded.Code == http.StatusForbidden, "%s %s: %s", path, handler, recorded.Body)
		}
	}
}

// An administrator for handler scrub is refused by every operation that writes and is about job type shell, or
// about no job type. On scrub, only operations that may introduce any handler refuse.
func TestRightsByHandlerHoldInEveryOperation(t *testing.T) {
	t.Parallel()
	built := byHandlerAPI(t)
	handler, judged := built.Handler(), 0
	for path, item := range built.OpenAPI().Paths {
		for method, operation := range map[string]*huma.Operation{http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodPatch: item.Patch, http.MethodDelete: item.Delete} {
			named := strings.Contains(path, "/job-types/{name}/") || strings.Contains(path, "/runs/{run}")
			if operation == nil || !named {
				continue
			}
			needed, ok := operation.Extensions[api.PermissionExtension].(string)
			require.True(t, ok)
			declared, err := access.ParsePermission(needed)
			require.NoError(t, err)
			if declared.Verb == access.View {
				continue
			}
			judged++
			ask := func(who, about string) string {
				return verdict(t, handler, who, requestTo(t, built.OpenAPI(), method, path, operation, about))
			}
			assert.Equal(t, "403", ask("scrubber", "shell"), "%s %s", method, path)
			assert.NotEqual(t, "403", ask("admin", "shell"), "%s %s", method, path)
			own := ask("scrubber", "scrub")
			if operation.OperationID == "restore-job-type" || operation.OperationID == "add-tasks" {
				assert.Equal(t, "403", own, "%s %s", method, path)
			} else {
				assert.NotEqual(t, "403", own, "%s %s", method, path)
			}
		}
	}
	assert.Greater(t, judged, 20)
}
