package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/api/authoring"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

// records keeps the records of requests with a key.
type records struct {
	client.Client

	memos map[string]*commonpb.Memo
}

func (r records) ExecuteWorkflow(_ context.Context, o client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun, error) {
	if r.memos[o.ID] != nil {
		return nil, serviceerror.NewWorkflowExecutionAlreadyStarted("it is there", "", "")
	}
	r.memos[o.ID] = &commonpb.Memo{Fields: map[string]*commonpb.Payload{}}
	for name, value := range o.Memo {
		payload, err := starter.DataConverter().ToPayload(value)
		if err != nil {
			return nil, err
		}
		r.memos[o.ID].Fields[name] = payload
	}
	return nil, nil
}

func (r records) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if r.memos[id] == nil {
		return nil, serviceerror.NewNotFound("there is no " + id)
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Memo: r.memos[id]}}, nil
}

// cabinet has a thing that can be read and replaced.
type cabinet struct {
	value string
	// Refused is the answer to a read if it is not nil.
	refused error
	takes   time.Duration
	replace int
	already func(context.Context, *api.Call, any) (bool, error)
}

type written struct {
	Dry  bool `query:"dry_run"`
	Body content
}

type content struct {
	Value string `json:"value"`
}

func (c *cabinet) handler() http.Handler {
	client := starter.New(records{memos: map[string]*commonpb.Memo{}}, "", nil)
	return api.New(api.Options{
		Auth: callers(), Client: client, As: func(context.Context, api.Caller) (*starter.Client, func(), error) { return client, func() {}, nil },
		Extra: []func(*api.API){func(a *api.API) {
			api.Add(a, api.Operation{ID: "read", Method: http.MethodGet, Path: "/thing", May: access.Permission{Verb: access.View, Kind: access.Runs}, Summary: "Read"},
				func(context.Context, *api.Call, *struct{}) (content, error) { return content{c.value}, c.refused })
			api.Add(a, api.Operation{ID: "write", Method: http.MethodPut, Path: "/thing", May: access.Permission{Verb: access.Operate, Kind: access.Runs}, Summary: "Write", Already: c.already},
				func(_ context.Context, _ *api.Call, in *written) (content, error) {
					time.Sleep(c.takes)
					c.value = in.Body.Value
					c.replace++
					return in.Body, nil
				})
		}},
	}).Handler()
}

func tagOf(t *testing.T, handler http.Handler) string {
	t.Helper()
	tag := ask(t, handler, "admin", http.MethodGet, api.Prefix+"/thing", "").Header().Get("ETag")
	require.NotEmpty(t, tag)
	return tag
}

// A request that was done may be repeated: it has changed the thing itself. A refused one stays refused.
func TestARepeatMatchesAsTheFirstRequestDid(t *testing.T) {
	t.Parallel()
	c := &cabinet{value: "a"}
	c.already = api.Already(func(_ context.Context, _ *api.Call, in *written) (bool, error) { return c.value == in.Body.Value, nil })
	handler := c.handler()
	tag := tagOf(t, handler)
	put := func(key, value string) int {
		return ask(t, handler, "admin", http.MethodPut, api.Prefix+"/thing", `{"value":"`+value+`"}`, "If-Match", tag, "Idempotency-Key", key).Code
	}
	assert.Equal(t, http.StatusOK, put("k", "b"))
	assert.Equal(t, http.StatusOK, put("k", "b"), "its answer was lost")
	assert.Equal(t, http.StatusPreconditionFailed, put("other", "c"))
	assert.Equal(t, http.StatusPreconditionFailed, put("other", "c"), "a repeat of the refused one")
	assert.Equal(t, http.StatusPreconditionFailed, put("k", "c"), "another request")
	assert.Equal(t, "b", c.value)
	c.value = "of somebody else"
	assert.Equal(t, http.StatusPreconditionFailed, put("k", "b"), "it would undo that change")
	assert.Equal(t, "of somebody else", c.value)
	c.already, c.value = nil, "b"
	handler = c.handler()
	tag = tagOf(t, handler)
	assert.Equal(t, http.StatusOK, put("k", "c"))
	assert.Equal(t, http.StatusPreconditionFailed, put("k", "c"), "whether it is already so is unknown")
}

// fleetOfOne has the job type scrub, the pool io and the run scrub-1.
type fleetOfOne struct {
	client.Client

	records records
	spec    contract.JobTypeSpec
	pool    int
	group   contract.GroupStatus
}

func (f *fleetOfOne) WorkflowService() workflowservice.WorkflowServiceClient { return calls{of: f} }

type calls struct {
	workflowservice.WorkflowServiceClient

	of *fleetOfOne
}

func (c calls) DescribeSchedule(context.Context, *workflowservice.DescribeScheduleRequest, ...grpc.CallOption) (*workflowservice.DescribeScheduleResponse, error) {
	stored, err := starter.DataConverter().ToPayloads(contract.JobGroupInput{Spec: c.of.spec})
	if err != nil {
		return nil, err
	}
	owner, err := starter.DataConverter().ToPayload("roundsman")
	return &workflowservice.DescribeScheduleResponse{
		Memo: &commonpb.Memo{Fields: map[string]*commonpb.Payload{"managed_by": owner}},
		Schedule: &schedulepb.Schedule{Action: &schedulepb.ScheduleAction{Action: &schedulepb.ScheduleAction_StartWorkflow{
			StartWorkflow: &workflowpb.NewWorkflowExecutionInfo{Input: stored},
		}}},
	}, err
}

func (calls) ListSchedules(context.Context, *workflowservice.ListSchedulesRequest, ...grpc.CallOption) (*workflowservice.ListSchedulesResponse, error) {
	return &workflowservice.ListSchedulesResponse{}, nil
}

func (c calls) UpdateSchedule(_ context.Context, in *workflowservice.UpdateScheduleRequest, _ ...grpc.CallOption) (*workflowservice.UpdateScheduleResponse, error) {
	var input contract.JobGroupInput
	err := starter.DataConverter().FromPayloads(in.GetSchedule().GetAction().GetStartWorkflow().GetInput(), &input)
	c.of.spec = input.Spec
	return &workflowservice.UpdateScheduleResponse{}, err
}

func (f *fleetOfOne) ExecuteWorkflow(ctx context.Context, o client.StartWorkflowOptions, workflow any, args ...any) (client.WorkflowRun, error) {
	return f.records.ExecuteWorkflow(ctx, o, workflow, args...)
}

func (f *fleetOfOne) SignalWithStartWorkflow(context.Context, string, string, any, client.StartWorkflowOptions, any, ...any) (client.WorkflowRun, error) {
	return nil, nil //nolint:nilnil // The audit log does not use it.
}

func (f *fleetOfOne) DescribeWorkflowExecution(ctx context.Context, id, run string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if id != "group/scrub-1" {
		return f.records.DescribeWorkflowExecution(ctx, id, run)
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: "1"}, Type: &commonpb.WorkflowType{Name: contract.JobGroupWorkflow},
		Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, StartTime: timestamppb.New(time.Unix(1, 0)),
	}}, nil
}

func (f *fleetOfOne) QueryWorkflowWithOptions(_ context.Context, r *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	var state any = f.group
	if r.QueryType == contract.QueryAdmission {
		state = contract.AdmissionView{Pools: []contract.AdmissionPool{{Name: "io", Size: f.pool, Operator: f.pool}}}
	}
	payloads, err := starter.DataConverter().ToPayloads(state)
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}, err
}

func (f *fleetOfOne) ListWorkflow(context.Context, *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	return &workflowservice.ListWorkflowExecutionsResponse{}, nil
}

// answer is the answer of an update.
type answer struct {
	client.WorkflowUpdateHandle

	value any
}

func (a answer) Get(_ context.Context, to any) error {
	text, err := json.Marshal(a.value)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// UpdateWorkflow executes repeats again: the workflow has continued as new.
func (f *fleetOfOne) UpdateWorkflow(_ context.Context, o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	switch in := o.Args[0].(type) {
	case contract.ResizePoolInput:
		f.pool = in.Size
		return answer{value: contract.AdmissionPool{}}, nil
	case contract.SetPolicyInput:
		before := f.group.Policy
		after, err := in.Over(before)
		f.group.Policy = after
		return answer{value: contract.SetPolicyResult{Before: before, After: after}}, err
	}
	return nil, errors.New("no such update")
}

// A repeat changes nothing if its first request is done, and is refused if it would undo a later change.
func TestARepeatUndoesNoChangeOfSomebodyElse(t *testing.T) {
	t.Parallel()
	for path, of := range map[string]struct{ method, anns, bobs string }{
		"/job-types/scrub/policy": {http.MethodPatch, `{"retry_limit":3}`, `{"retry_limit":5}`},
		"/pools/io/size":          {http.MethodPut, `{"size":3}`, `{"size":5}`},
		"/runs/scrub-1":           {http.MethodPatch, `{"retry_limit":3}`, `{"retry_limit":5}`},
	} {
		policy := jobtype.DefaultPolicy().WithDefaults().WithDerived()
		f := &fleetOfOne{
			records: records{memos: map[string]*commonpb.Memo{}}, pool: 1, group: contract.GroupStatus{Phase: "executing", Policy: policy},
			spec: contract.JobTypeSpec{Name: "scrub", Handler: "scrub", Policy: policy, Schedule: contract.ScheduleSpec{Every: jobtype.Duration(time.Hour)}},
		}
		own := starter.New(f, "", nil)
		handler := api.New(api.Options{Auth: callers(), Client: own, As: func(context.Context, api.Caller) (*starter.Client, func(), error) { return own, func() {}, nil }}).Handler()
		tag := ask(t, handler, "admin", http.MethodGet, api.Prefix+path, "").Header().Get("ETag")
		require.NotEmpty(t, tag, path)
		anns := func() *httptest.ResponseRecorder {
			return ask(t, handler, "admin", of.method, api.Prefix+path, of.anns, "If-Match", tag, "Idempotency-Key", "anns")
		}
		first := anns()
		require.Equal(t, http.StatusOK, first.Code, "%s: %s", path, first.Body)
		again := anns()
		assert.Equal(t, http.StatusOK, again.Code, "%s, its answer was lost: %s", path, again.Body)
		require.Equal(t, http.StatusOK, ask(t, handler, "operator", of.method, api.Prefix+path, of.bobs).Code, path)
		late := anns()
		assert.Equal(t, http.StatusPreconditionFailed, late.Code, "%s: %s", path, late.Body)
		assert.Contains(t, []int{f.pool, f.group.Policy.RetryLimit, f.spec.Policy.RetryLimit}, 5, path)
	}
}

// A repeat of a change of settings is compared with the settings at its first request, also without If-Match.
func TestARepeatOfASettingUndoesNoLaterChange(t *testing.T) {
	t.Parallel()
	const path, anns = "/job-types/scrub/policy", `{"retry_limit":3}`
	policy := jobtype.DefaultPolicy().WithDefaults().WithDerived()
	f := &fleetOfOne{
		records: records{memos: map[string]*commonpb.Memo{}},
		spec:    contract.JobTypeSpec{Name: "scrub", Handler: "scrub", Policy: policy, Schedule: contract.ScheduleSpec{Every: jobtype.Duration(time.Hour)}},
	}
	own := starter.New(f, "", nil)
	handler := api.New(api.Options{Auth: callers(), Client: own, As: func(context.Context, api.Caller) (*starter.Client, func(), error) { return own, func() {}, nil }}).Handler()
	patch := func(body string, header ...string) int {
		return ask(t, handler, "admin", http.MethodPatch, api.Prefix+path, body, header...).Code
	}
	assert.Equal(t, http.StatusOK, patch(anns, "Idempotency-Key", "anns"))
	assert.Equal(t, http.StatusOK, patch(anns, "Idempotency-Key", "anns"), "its answer was lost")
	assert.Equal(t, http.StatusOK, patch(`{"retry_limit":5}`))
	assert.Equal(t, http.StatusPreconditionFailed, patch(anns, "Idempotency-Key", "anns"))
	assert.Equal(t, 5, f.spec.Policy.RetryLimit)
	assert.Equal(t, http.StatusOK, patch(anns, "Idempotency-Key", "another"))
	assert.Equal(t, 3, f.spec.Policy.RetryLimit)

	before := f.spec
	assert.Equal(t, http.StatusOK, patch(`{"retry_limit":7}`, "Idempotency-Key", "killed"))
	f.spec = before // The control plane was killed before the change.
	assert.Equal(t, http.StatusOK, patch(`{"retry_limit":7}`, "Idempotency-Key", "killed"))
	assert.Equal(t, 7, f.spec.Policy.RetryLimit)
}

// A late repeat of a dry run undoes nothing. A first request with that tag is refused.
func TestADryRunIsRepeatedAfterAChange(t *testing.T) {
	t.Parallel()
	const path = api.Prefix + "/job-types/scrub/settings"
	policy := jobtype.DefaultPolicy().WithDefaults().WithDerived()
	policy.CatchupWindow = jobtype.Duration(time.Hour)
	f := &fleetOfOne{records: records{memos: map[string]*commonpb.Memo{}}, spec: contract.JobTypeSpec{
		Name: "scrub", Handler: "scrub", Policy: policy, Schedule: contract.ScheduleSpec{Every: jobtype.Duration(time.Hour)},
	}}
	own := starter.New(f, "", nil)
	handler := api.New(api.Options{
		Auth: callers(), Client: own, As: func(context.Context, api.Caller) (*starter.Client, func(), error) { return own, func() {}, nil },
		Extra: []func(*api.API){authoring.Operations}, Handlers: []jobtype.Descriptor{{Name: "scrub"}},
	}).Handler()
	read := ask(t, handler, "admin", http.MethodGet, path, "")
	require.Equal(t, http.StatusOK, read.Code, read.Body)
	preview := func(header ...string) *httptest.ResponseRecorder {
		return ask(t, handler, "admin", http.MethodPatch, path+"?dry_run=true", `{"settings":{"description":"new"}}`, header...)
	}
	matching := []string{"If-Match", read.Header().Get("ETag"), "Idempotency-Key", "matching"}
	for _, header := range [][]string{{"Idempotency-Key", "plain"}, matching} {
		first := preview(header...)
		require.Equal(t, http.StatusOK, first.Code, first.Body)
	}
	f.spec.Description = "of somebody else"
	for _, header := range [][]string{{"Idempotency-Key", "plain"}, matching} {
		again := preview(header...)
		require.Equal(t, http.StatusOK, again.Code, again.Body)
		assert.Contains(t, again.Body.String(), "of somebody else")
	}
	assert.Equal(t, http.StatusPreconditionFailed, preview("If-Match", read.Header().Get("ETag"), "Idempotency-Key", "late").Code)
}

// Of two requests at once with the same tag one is refused.
func TestConcurrentChangesWithOneTag(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &cabinet{value: "a", takes: time.Second}
		handler := c.handler()
		tag, codes := tagOf(t, handler), make(chan int)
		for i := range 3 {
			go func() {
				codes <- ask(t, handler, "admin", http.MethodPut, api.Prefix+"/thing", fmt.Sprintf(`{"value":"%d"}`, i), "If-Match", tag).Code
			}()
		}
		got := []int{<-codes, <-codes, <-codes}
		slices.Sort(got)
		assert.Equal(t, []int{http.StatusOK, http.StatusPreconditionFailed, http.StatusPreconditionFailed}, got)
		assert.Equal(t, 1, c.replace)
	})
}

// A request that gives up does not keep others from the thing.
func TestAWaitingChangeMayGiveUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &cabinet{value: "a", takes: 10 * time.Second}
		handler := c.handler()
		tag, first := tagOf(t, handler), make(chan int)
		put := func(ctx context.Context) int {
			r := httptest.NewRequestWithContext(ctx, http.MethodPut, api.Prefix+"/thing", strings.NewReader(`{"value":"b"}`))
			r.Host = "localhost"
			r.Header = http.Header{"Who": {"admin"}, "Content-Type": {"application/json"}, "If-Match": {tag}}
			recorded := httptest.NewRecorder()
			handler.ServeHTTP(recorded, r)
			return recorded.Code
		}
		go func() { first <- put(t.Context()) }()
		synctest.Wait() // It is in the operation.
		limited, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.NotEqual(t, http.StatusOK, put(limited))
		assert.Equal(t, http.StatusOK, <-first)
		tag = tagOf(t, handler)
		assert.Equal(t, http.StatusOK, put(t.Context()))
		assert.Equal(t, 2, c.replace)
	})
}

// Without an answer to the GET nothing is changed.
func TestAChangeWhoseConditionIsUnknown(t *testing.T) {
	t.Parallel()
	c := &cabinet{value: "a"}
	handler := c.handler()
	for status, want := range map[int]int{http.StatusServiceUnavailable: http.StatusServiceUnavailable, http.StatusForbidden: http.StatusForbidden, http.StatusNotFound: http.StatusPreconditionFailed} {
		c.refused = problem.New(status, "", "not now")
		recorded := ask(t, handler, "admin", http.MethodPut, api.Prefix+"/thing", `{"value":"b"}`, "If-Match", "*")
		assert.Equal(t, want, recorded.Code, recorded.Body)
		assert.Equal(t, problem.ContentType, recorded.Header().Get("Content-Type"))
	}
	assert.Zero(t, c.replace)
}

// The query of the change is none of the GET.
func TestAConditionOfADryRun(t *testing.T) {
	t.Parallel()
	c := &cabinet{value: "a"}
	handler := c.handler()
	tag := tagOf(t, handler)
	put := func() int {
		return ask(t, handler, "admin", http.MethodPut, api.Prefix+"/thing?dry_run=true", `{"value":"b"}`, "If-Match", tag).Code
	}
	assert.Equal(t, http.StatusOK, put())
	assert.Equal(t, http.StatusPreconditionFailed, put())
}

// TestAKeyIsOfOneRequestOfOneCaller: a client that uses a key twice learns of it before anything is done.
func TestAKeyIsOfOneRequestOfOneCaller(t *testing.T) {
	t.Parallel()
	c := &cabinet{}
	handler := c.handler()
	for _, row := range []struct {
		who, path, body, key string
		status               int
		code                 string
	}{
		{"admin", "/thing", `{"value":"a"}`, "k", http.StatusOK, ""},
		{"admin", "/thing", `{"value":"a"}`, "k", http.StatusOK, ""},
		{"admin", "/thing", `{"value":"b"}`, "k", http.StatusUnprocessableEntity, "KEY_REUSED"},
		{"admin", "/thing", `{"value": "a"}`, "k", http.StatusUnprocessableEntity, "KEY_REUSED"},
		{"admin", "/thing?dry_run=true", `{"value":"a"}`, "k", http.StatusUnprocessableEntity, "KEY_REUSED"},
		{"admin", "/thing", `{"value":"b"}`, "l", http.StatusOK, ""},
		{"operator", "/thing", `{"value":"c"}`, "k", http.StatusOK, ""},
		{"viewer", "/thing", `{"value":"c"}`, "k", http.StatusForbidden, "ACCESS_DENIED"},
		{"admin", "/thing", `{"value":"d"}`, strings.Repeat("k", 200), http.StatusOK, ""},
		{"admin", "/thing", `{"value":"d"}`, strings.Repeat("k", 201), http.StatusUnprocessableEntity, "INVALID"},
	} {
		before := c.replace
		answer := ask(t, handler, row.who, http.MethodPut, api.Prefix+row.path, row.body, "Idempotency-Key", row.key)
		require.Equal(t, row.status, answer.Code, "%+v: %s", row, answer.Body)
		if row.code != "" {
			assert.Equal(t, row.code, codeOf(t, answer), "%+v", row)
			assert.Equal(t, before, c.replace, "%+v", row)
		}
	}
}
