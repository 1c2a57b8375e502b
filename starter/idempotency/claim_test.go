package idempotency_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/idempotency"
)

// records is a server that keeps each workflow id once.
type records struct {
	client.Client

	mu   sync.Mutex
	held map[string]*workflowpb.WorkflowExecutionInfo
	// lost: the answers of the next starts are lost, unread: those of the next reads.
	lost, unread int
}

var errLost = serviceerror.NewUnavailable("the connection was closed")

func (r *records) ExecuteWorkflow(_ context.Context, options client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held[options.ID] != nil {
		return nil, serviceerror.NewWorkflowExecutionAlreadyStarted("it exists", "", "")
	}
	memo := &commonpb.Memo{Fields: map[string]*commonpb.Payload{}}
	for key, value := range options.Memo {
		payload, err := starter.DataConverter().ToPayload(value)
		if err != nil {
			return nil, err
		}
		memo.Fields[key] = payload
	}
	if r.held == nil {
		r.held = map[string]*workflowpb.WorkflowExecutionInfo{}
	}
	r.held[options.ID] = &workflowpb.WorkflowExecutionInfo{Memo: memo, StartTime: timestamppb.New(time.Unix(int64(1000+len(r.held)), 0))}
	if r.lost > 0 {
		r.lost--
		return nil, errLost
	}
	return nil, nil
}

func (r *records) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unread > 0 {
		r.unread--
		return nil, errLost
	}
	if r.held[id] == nil {
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: r.held[id]}, nil
}

// TestARequestIsFirstOnce: nothing that gets lost between a caller and the server makes a request first twice, and a caller
// that got an error was not first.
func TestARequestIsFirstOnce(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0).UTC()
	for name, c := range map[string]struct {
		lost, unread int
		first        []bool
	}{
		"nothing is lost":          {0, 0, []bool{true, false, false}},
		"the answer of the start":  {1, 0, []bool{false, false, false}},
		"the answer of the read":   {0, 1, []bool{false, false, false}},
		"the answers of each read": {0, 3, []bool{false, false, false}},
		"both":                     {1, 1, []bool{false, false, false}},
	} {
		server := &records{lost: c.lost, unread: c.unread}
		one := starter.New(server, "", nil)
		for i, want := range c.first {
			request, first, err := idempotency.Claim(t.Context(), one, "r", "digest", "")
			assert.Equal(t, want, first, "%s: attempt %d", name, i)
			if err != nil {
				require.ErrorIs(t, err, errLost, name)
				assert.Less(t, i, c.lost+c.unread, name)
				continue
			}
			assert.Equal(t, "r", request.ID)
			assert.Equal(t, at, request.At, "of the first attempt")
		}
		server.unread = 0
		_, first, err := idempotency.Claim(t.Context(), one, "r", "another", "")
		require.ErrorIs(t, err, idempotency.ErrOther, name)
		assert.False(t, first)
		for id, known := range map[string]bool{"r": true, "s": false} {
			is, err := idempotency.Known(t.Context(), one, id, "digest")
			require.NoError(t, err)
			assert.Equal(t, known, is, id)
		}
		is, err := idempotency.Known(t.Context(), one, "r", "another")
		require.NoError(t, err)
		assert.False(t, is, "another request under the key")
	}
}

// TestOneOfManyIsFirst of the same requests at the same time.
func TestOneOfManyIsFirst(t *testing.T) {
	t.Parallel()
	one := starter.New(&records{}, "", nil)
	firsts := make([]bool, 20)
	var all sync.WaitGroup
	for i := range firsts {
		all.Go(func() {
			var err error
			_, firsts[i], err = idempotency.Claim(t.Context(), one, "r", "digest", "")
			assert.NoError(t, err)
		})
	}
	all.Wait()
	number := 0
	for _, first := range firsts {
		if first {
			number++
		}
	}
	assert.Equal(t, 1, number)
}
