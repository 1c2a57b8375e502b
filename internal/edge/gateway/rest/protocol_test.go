package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/gateway"
	"github.com/roundsman/roundsman/internal/edge/gateway/rest"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/jobtype"
)

// server is a Temporal server with every worker in its registry, and one task for each name.
type server struct {
	client.Client

	tasks   tasks
	holder  *contract.RegisteredOther
	unknown bool
	// fault is the error of each call except queries.
	fault      error
	registered []contract.WorkerRegistration
	ended      []any
	failed     []error
	pages      int
}

type tasks struct {
	workflowservice.WorkflowServiceClient

	next  any
	fault error
}

func payloads(v any) *commonpb.Payloads {
	encoded, err := converter.GetDefaultDataConverter().ToPayloads(v)
	if err != nil {
		panic(err)
	}
	return encoded
}

func (s *server) WorkflowService() workflowservice.WorkflowServiceClient { return &s.tasks }

func (s *server) NewWithStartWorkflowOperation(client.StartWorkflowOptions, any, ...any) client.WithStartWorkflowOperation {
	return nil
}

type answer struct {
	client.WorkflowUpdateHandle

	value any
}

func (a answer) Get(_ context.Context, into any) error {
	return client.NewValue(payloads(a.value)).Get(into)
}

func (s *server) UpdateWithStartWorkflow(_ context.Context, in client.UpdateWithStartWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	registration, _ := in.UpdateOptions.Args[0].(contract.WorkerRegistration)
	s.registered = append(s.registered, registration)
	return answer{value: contract.RegisterWorkerResult{Accepted: s.holder == nil, Refused: s.holder}}, s.fault
}

func (s *server) QueryWorkflowWithOptions(_ context.Context, in *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	question, _ := in.Args[0].(contract.StandingInput)
	standing := contract.StandingResult{Settings: make([]contract.WorkerSettings, len(question.Of))}
	for i := range standing.Settings {
		standing.Settings[i].Known = !s.unknown
	}
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads(standing))}, nil
}

func (s *server) UpdateWorkflow(_ context.Context, _ client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	s.pages++
	return answer{value: contract.DetectPageResult{}}, s.fault
}

func (s *server) SignalWorkflow(context.Context, string, string, string, any) error { return nil }

func (s *server) RecordActivityHeartbeat(context.Context, []byte, ...any) error { return s.fault }

func (s *server) CompleteActivity(_ context.Context, _ []byte, result any, failure error) error {
	s.ended, s.failed = append(s.ended, result), append(s.failed, failure)
	return s.fault
}

func (t *tasks) PollActivityTaskQueue(context.Context, *workflowservice.PollActivityTaskQueueRequest, ...grpc.CallOption) (*workflowservice.PollActivityTaskQueueResponse, error) {
	task := &workflowservice.PollActivityTaskQueueResponse{}
	if t.next != nil {
		task.TaskToken, task.Input = []byte("t1"), payloads(t.next)
	}
	return task, t.fault
}

func (t *tasks) RecordWorkerHeartbeat(context.Context, *workflowservice.RecordWorkerHeartbeatRequest, ...grpc.CallOption) (*workflowservice.RecordWorkerHeartbeatResponse, error) {
	return &workflowservice.RecordWorkerHeartbeatResponse{}, t.fault
}

// keys authenticates every request as the caller.
type keys struct{ caller api.Caller }

func (k keys) Authenticate(*http.Request) (api.Caller, error) { return k.caller, nil }

func worker(handlers ...string) api.Caller {
	var roles access.Policy
	return api.Caller{Name: "x", Auth: "key", Key: "k1", Rights: roles.Grant(access.Worker, nil, nil, handlers...)}
}

// site posts requests to a gateway of s.
type site struct {
	t       *testing.T
	gateway *gateway.Gateway
	handler http.Handler
}

func serve(t *testing.T, s *server, caller api.Caller) site {
	t.Helper()
	g, err := gateway.New(gateway.Options{Client: s, Namespace: "press", Converter: converter.GetDefaultDataConverter(), Secret: bytes.Repeat([]byte{7}, gateway.MinSecret)})
	require.NoError(t, err)
	return site{t, g, api.New(api.Options{Auth: keys{caller}, Bare: true, Extra: []func(*api.API){rest.Protocol(g)}}).Handler()}
}

func (s site) post(path, authorization string, body any) *httptest.ResponseRecorder {
	s.t.Helper()
	encoded, err := json.Marshal(body)
	require.NoError(s.t, err)
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, api.Prefix+path, bytes.NewReader(encoded))
	r.Host = "localhost"
	r.Header = http.Header{"Authorization": {authorization}, "Content-Type": {"application/json"}}
	got := httptest.NewRecorder()
	s.handler.ServeHTTP(got, r)
	return got
}

// must posts a request that succeeds.
func must[T any](s site, path, authorization string, body any) T {
	s.t.Helper()
	got := s.post(path, authorization, body)
	require.Equal(s.t, http.StatusOK, got.Code, "%s: %s", path, got.Body)
	var value T
	require.NoError(s.t, json.Unmarshal(got.Body.Bytes(), &value))
	return value
}

type object = map[string]any

var registration = object{"id": "press", "instance": "i1", "capabilities": []object{{"handler": "command"}}}

func (s site) register() (bearer string) {
	return "Bearer " + must[gateway.Registered](s, "/workers/register", "", registration).Token
}

func TestAJobByHTTP(t *testing.T) {
	t.Parallel()
	far := &server{}
	s := serve(t, far, worker())
	bearer := s.register()
	assert.Equal(t, http.StatusNoContent, s.post("/workers/press/jobs:poll", bearer, object{}).Code, "no job")
	far.tasks.next = contract.ExecuteInput{Handler: "command", Job: jobtype.Job{ID: "job-00007", GroupID: "group/nightly", Attempt: 2}}
	job := must[gateway.Job](s, "/workers/press/jobs:poll", bearer, object{"wait": "1s"})
	assert.Equal(t, []any{"job-00007", "group/nightly", 2, "command"}, []any{job.ID, job.GroupID, job.Attempt, job.Handler})
	one := "/leases/" + job.Lease
	assert.Equal(t, rest.Verdict{Continue: true}, must[rest.Verdict](s, one+"/heartbeat", bearer, object{"percent": 10}))
	far.fault = temporal.NewCanceledError()
	assert.Equal(t, rest.Verdict{Cancel: gateway.CancelRequested}, must[rest.Verdict](s, one+"/heartbeat", bearer, object{}))
	far.fault = nil
	for path, want := range map[string]contract.FailureKind{"/fail": contract.FailureFailed, "/canceled": contract.FailureCanceled, "/return": contract.FailureDraining} {
		assert.Equal(t, object{"ok": true}, must[object](s, one+path, bearer, object{"message": "no space"}), path)
		failed, ok := errors.AsType[*temporal.ApplicationError](far.failed[len(far.failed)-1])
		require.True(t, ok)
		assert.Equal(t, string(want), failed.Type(), path)
	}
	must[object](s, one+"/complete", bearer, object{"output": "done"})
	require.NoError(t, far.failed[len(far.failed)-1])
	must[gateway.Settings](s, "/workers/press/ping", bearer, object{"executing": 1})
	far.tasks.next = nil
	must[object](s, "/workers/press/unregister", bearer, object{})
}

func TestADetectionByHTTP(t *testing.T) {
	t.Parallel()
	far := &server{}
	s := serve(t, far, worker())
	bearer := s.register()
	assert.Equal(t, http.StatusNoContent, s.post("/workers/press/detections:poll", bearer, object{}).Code, "no detection")
	far.tasks.next = contract.DetectActivityInput{Handler: "command", WorkflowID: "group/nightly", Attempt: 1}
	found := must[gateway.Detection](s, "/workers/press/detections:poll", bearer, object{})
	one := "/leases/" + found.Lease
	page := must[gateway.Page](s, one+"/proposals", bearer, object{"cursor": found.Cursor, "proposals": []object{{"dedupe_key": "a"}}})
	assert.Equal(t, []int{1, 1}, []int{page.Emitted, far.pages})
	must[object](s, one+"/detected", bearer, object{"cursor": page.Cursor, "more": true})
	assert.Equal(t, contract.DetectActivityResult{Worker: "press", Pages: 1, Emitted: 1, More: true}, far.ended[0])
}

// Clients decide by the status and the code: which of them repeat, register again, or stop the job.
func TestStatusesOfProblems(t *testing.T) {
	t.Parallel()
	s := serve(t, &server{}, worker())
	bearer := s.register()
	far := &server{tasks: tasks{next: contract.ExecuteInput{}}}
	job := must[gateway.Job](serve(t, far, worker()), "/workers/press/jobs:poll", bearer, object{})
	beat := "/leases/" + job.Lease + "/heartbeat"
	mill := "Bearer " + must[gateway.Registered](s, "/workers/register", "", object{"id": "mill", "capabilities": registration["capabilities"]}).Token
	for name, row := range map[string]struct {
		far    *server
		path   string
		bearer string
		status int
		code   gateway.Code
	}{
		"no token":         {&server{}, "/workers/press/ping", "", http.StatusUnauthorized, gateway.CodeBadToken},
		"another scheme":   {&server{}, "/workers/press/ping", "Basic" + bearer[6:], http.StatusUnauthorized, gateway.CodeBadToken},
		"another path":     {&server{}, "/workers/mill/ping", bearer, http.StatusForbidden, gateway.CodeNotYours},
		"another's lease":  {&server{}, beat, mill, http.StatusForbidden, gateway.CodeNotYours},
		"a broken lease":   {&server{}, "/leases/x/heartbeat", bearer, http.StatusUnauthorized, gateway.CodeBadToken},
		"not registered":   {&server{unknown: true}, "/workers/press/jobs:poll", bearer, http.StatusNotFound, gateway.CodeUnknownWorker},
		"a lost lease":     {&server{fault: serviceerror.NewNotFound("gone")}, beat, bearer, http.StatusGone, gateway.CodeLeaseLost},
		"a refused report": {&server{fault: serviceerror.NewInvalidArgument("no")}, beat, bearer, http.StatusUnprocessableEntity, gateway.CodeInvalid},
		"no server":        {&server{fault: serviceerror.NewUnavailable("no")}, beat, bearer, http.StatusServiceUnavailable, gateway.CodeUnavailable},
		"no server to ask": {&server{tasks: tasks{fault: serviceerror.NewUnavailable("no")}}, "/workers/press/ping", bearer, http.StatusServiceUnavailable, gateway.CodeUnavailable},
	} {
		got := serve(t, row.far, worker()).post(row.path, row.bearer, object{})
		assert.Equal(t, row.status, got.Code, "%s: %s", name, got.Body)
		assert.Contains(t, got.Body.String(), fmt.Sprintf("%q", row.code), name)
	}
	// Schemes are not case-sensitive, and blanks around the token are ignored.
	must[gateway.Settings](s, "/workers/press/ping", "bearer  "+bearer[7:]+" ", object{})
}

// The holder of an id, the pause and the fate of an outcome reach the client.
func TestDetailsOfProblems(t *testing.T) {
	t.Parallel()
	s := serve(t, &server{holder: &contract.RegisteredOther{Host: "other", PID: 8, SinceBeat: jobtype.Duration(4500 * time.Millisecond)}}, worker())
	got := s.post("/workers/register", "", registration)
	assert.Equal(t, http.StatusConflict, got.Code)
	assert.Equal(t, "11", got.Header().Get("Retry-After"), "rounded up: 10.5 s")
	assert.Contains(t, got.Body.String(), `"host":"other"`)

	far := &server{tasks: tasks{next: contract.ExecuteInput{}}}
	s = serve(t, far, worker())
	bearer := s.register()
	job := must[gateway.Job](s, "/workers/press/jobs:poll", bearer, object{})
	far.fault = serviceerror.NewNotFound("gone")
	got = s.post("/leases/"+job.Lease+"/complete", bearer, object{})
	assert.Equal(t, http.StatusGone, got.Code)
	assert.Contains(t, got.Body.String(), `"delivered":true`)
	assert.Nil(t, rest.Problem(errors.New("not of the gateway")))
}

// A stopping gateway ends its polls, and clients repeat them elsewhere.
func TestAGatewayThatStops(t *testing.T) {
	t.Parallel()
	far := &server{tasks: tasks{fault: serviceerror.NewUnavailable("no")}}
	s := serve(t, far, worker())
	bearer := s.register()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, api.Prefix+"/workers/press/jobs:poll", bytes.NewReader([]byte(`{}`)))
	r.Host, r.Header = "localhost", http.Header{"Authorization": {bearer}, "Content-Type": {"application/json"}}
	got := httptest.NewRecorder()
	s.handler.ServeHTTP(got, r)
	assert.Equal(t, http.StatusServiceUnavailable, got.Code)
	assert.Contains(t, got.Body.String(), "the gateway is being stopped")
}

// A key registers only its workers and handlers, in any spelling.
func TestWhatAKeyMayRegister(t *testing.T) {
	t.Parallel()
	one := worker()
	one.Worker = "press"
	command, copying := object{"handler": "command"}, object{"handler": "copy"}
	for name, row := range map[string]struct {
		caller api.Caller
		body   object
		want   int
	}{
		"any":                  {worker(), object{"id": "mill", "capabilities": []object{command, copying}}, http.StatusOK},
		"its worker":           {one, object{"id": "press", "capabilities": []object{command}}, http.StatusOK},
		"its worker, unnamed":  {one, object{"capabilities": []object{command}}, http.StatusOK},
		"another worker":       {one, object{"id": "mill", "capabilities": []object{command}}, http.StatusForbidden},
		"its handler":          {worker("command"), object{"id": "press", "capabilities": []object{command}}, http.StatusOK},
		"another handler too":  {worker("command"), object{"id": "press", "capabilities": []object{command, copying}}, http.StatusForbidden},
		"another's descriptor": {worker("command"), object{"id": "press", "capabilities": []object{{"handler": "", "descriptor": object{"name": "copy", "default_policy": object{}}}}}, http.StatusForbidden},
		"a false name":         {worker("command"), object{"id": "press", "capabilities": []object{{"handler": "command", "descriptor": object{"name": "copy", "default_policy": object{}}}}}, http.StatusUnprocessableEntity},
	} {
		far := &server{}
		s := serve(t, far, row.caller)
		got := s.post("/workers/register", "", row.body)
		require.Equal(t, row.want, got.Code, "%s: %s", name, got.Body)
		if row.want != http.StatusOK {
			assert.Empty(t, far.registered, name)
			continue
		}
		var accepted gateway.Registered
		require.NoError(t, json.Unmarshal(got.Body.Bytes(), &accepted))
		w, err := s.gateway.Worker(accepted.Token)
		require.NoError(t, err)
		assert.Equal(t, "k1", w.Key(), "the token ends with its key")
		if row.caller.Worker != "" {
			assert.Equal(t, "press", far.registered[0].ID, name)
		}
	}
}
