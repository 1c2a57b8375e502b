package api_test

import (
	"context"
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
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/engine/access"
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
			api.Add(a, api.Operation{ID: "write", Method: http.MethodPut, Path: "/thing", May: access.Permission{Verb: access.Operate, Kind: access.Runs}, Summary: "Write"},
				func(_ context.Context, _ *api.Call, in *struct {
					Dry  bool `query:"dry_run"`
					Body content
				},
				) (content, error) {
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
