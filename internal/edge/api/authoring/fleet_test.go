package authoring

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/starter"
)

// mute is a server whose fleet cannot be queried.
type mute struct {
	client.Client

	err error
}

func (m mute) QueryWorkflowWithOptions(context.Context, *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	return nil, m.err
}

func (m mute) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return nil, m.err
}

func (mute) DescribeTaskQueue(context.Context, string, enumspb.TaskQueueType) (*workflowservice.DescribeTaskQueueResponse, error) {
	return &workflowservice.DescribeTaskQueueResponse{}, nil
}

// TestWithoutTheFleetAHandlerIsNotUnknown: a worker may have it.
func TestWithoutTheFleetAHandlerIsNotUnknown(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		err    error
		status int
		code   string
	}{
		{serviceerror.NewPermissionDenied("no", ""), http.StatusBadGateway, "SERVER_DENIED"},
		{serviceerror.NewDeadlineExceeded("late"), http.StatusServiceUnavailable, "CONTROL_PLANE_DOWN"},
	} {
		own := starter.New(mute{err: row.err}, "", nil)
		handler := api.New(api.Options{
			Auth: roles{}, Client: own, Extra: []func(*api.API){Operations},
			As: func(context.Context, api.Caller) (*starter.Client, func(), error) { return own, func() {}, nil },
		}).Handler()
		answer := send(t, handler, access.Admin, http.MethodPost, "/validate", `{"document": "version: 1\njob_types:\n  far: {handler: of-a-worker, schedule: {every: 1h}}\n"}`)
		assert.Equal(t, row.status, answer.Code, answer.Body.String())
		assert.Contains(t, answer.Body.String(), row.code)
		assert.NotContains(t, answer.Body.String(), "there is no handler")
		assert.Contains(t, answer.Body.String(), "could not be read")
	}
}
