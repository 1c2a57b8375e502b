package starter

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/contract"
)

// silentClient is a server that reports every workflow as running.
type silentClient struct {
	client.Client

	polls []time.Time
	// unlisted is the failure to list them.
	unlisted error
}

func (silentClient) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{}, nil
}

// DescribeTaskQueue returns the last polls of control planes.
func (s silentClient) DescribeTaskQueue(context.Context, string, enumspb.TaskQueueType) (*workflowservice.DescribeTaskQueueResponse, error) {
	if s.unlisted != nil {
		return nil, s.unlisted
	}
	answer := &workflowservice.DescribeTaskQueueResponse{}
	for _, at := range s.polls {
		answer.Pollers = append(answer.Pollers, &taskqueuepb.PollerInfo{LastAccessTime: timestamppb.New(at)})
	}
	return answer, nil
}

// A control plane with a recent poll is slow: the error does not ask for another one.
func TestASlowControlPlaneIsNotAbsent(t *testing.T) {
	t.Parallel()
	nobody := serviceerror.NewDeadlineExceeded("no answer")
	ask := func(polls ...time.Time) string {
		c := New(silentClient{polls: polls}, "", nil)
		return c.askError(t.Context(), admissionRef(), "query admission", time.Now().Add(-10*time.Second), nobody).Error()
	}
	at := time.Now().Add(-3 * time.Second)
	assert.Contains(t, ask(at.Add(-time.Hour), at), "query admission of admission has not been answered for 10 s: a control plane exists, its last poll was at "+
		at.UTC().Format(time.RFC3339)+", and it is slow or has just ended; wait, or if it has ended start one with `roundsman server`")
	for _, absent := range []string{ask(), ask(time.Now().Add(-contract.PollPatience))} {
		assert.Contains(t, absent, "was not answered: no control plane serves this namespace; start one with `roundsman server`")
	}
}

// The tasks of a workflow time out while the process of the control plane is frozen. After some of them the server refuses
// queries at once. A workflow that is too new gets another refusal.
func TestAFrozenControlPlaneDoesNotAnswer(t *testing.T) {
	t.Parallel()
	c := New(silentClient{}, "", nil)
	ask := func(text string) error {
		return c.askError(t.Context(), fleetRef(), "query workers", time.Now(), serviceerror.NewWorkflowNotReady(text))
	}
	var down *ControlPlaneDownError
	require.ErrorAs(t, ask("Unable to query workflow due to Workflow Task in failed state."), &down)
	assert.True(t, NotReady(down))
	assert.NotErrorAs(t, ask("Workflow task is not scheduled yet."), &down)
}

// A server that does not list the polls does not prove that no control plane runs.
func TestAControlPlaneWhosePollsAreUnknownIsNotAbsent(t *testing.T) {
	t.Parallel()
	nobody := serviceerror.NewDeadlineExceeded("no answer")
	c := New(silentClient{unlisted: nobody}, "", nil)
	err := c.askError(t.Context(), admissionRef(), "query admission", time.Now().Add(-10*time.Second), nobody)
	assert.ErrorContains(t, err, "query admission of admission has not been answered for 10 s: whether a control plane runs is unknown, the server did not list its polls; "+
		"wait, or if it has ended start one with `roundsman server`")
	assert.NotContains(t, err.Error(), "no control plane serves this namespace")
}

// The server keeps an unanswered update for the next control plane; an unanswered query has no
// effect.
func TestWhatIsNotAnsweredMayStillBeDone(t *testing.T) {
	t.Parallel()
	c := New(silentClient{}, "", nil)
	nobody := serviceerror.NewDeadlineExceeded("no poller")
	assert.ErrorContains(t, c.askError(t.Context(), admissionRef(), askedUpdate+"resize-pool", time.Now(), nobody), "may still take effect")
	assert.NotContains(t, c.askError(t.Context(), admissionRef(), "query admission", time.Now(), nobody).Error(), "may still take effect")

	left, leave := context.WithCancel(t.Context())
	leave()
	err := c.askError(left, admissionRef(), askedUpdate+"resize-pool", time.Now(), nobody)
	assert.ErrorContains(t, err, "may still take effect", "nobody waited for the answer")
	assert.ErrorIs(t, err, context.Canceled)
	err = c.askError(left, admissionRef(), "query admission", time.Now(), nobody)
	assert.NotContains(t, err.Error(), "may still take effect")
	assert.ErrorIs(t, err, context.Canceled)
}

// droppingClient is a server that drops the first updates.
type droppingClient struct {
	silentClient
	faults []error
	ids    []string
}

func (d *droppingClient) UpdateWorkflow(_ context.Context, options client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	d.ids = append(d.ids, options.UpdateID)
	if n := len(d.ids); n <= len(d.faults) {
		return nil, d.faults[n-1]
	}
	return takenUpdate{}, nil
}

type takenUpdate struct{ client.WorkflowUpdateHandle }

func (takenUpdate) Get(context.Context, any) error { return nil }

// The server drops an update during a continue-as-new and does nothing of it. The caller must
// not see this.
func TestDroppedUpdatesAreSentAgain(t *testing.T) {
	t.Parallel()
	dropped := serviceerror.NewWorkflowNotReady("unexpected workflow task failure")
	early := temporal.NewApplicationError("the run has not begun yet", contract.RunNotBegunError)
	server := &droppingClient{faults: []error{dropped, early}}
	_, err := update[any](t.Context(), New(server, "", nil), admissionRef(), "resize-pool", nil)
	require.NoError(t, err)
	require.Len(t, server.ids, 3)
	assert.NotEmpty(t, server.ids[0])
	assert.Equal(t, []string{server.ids[0], server.ids[0]}, server.ids[1:], "one update, whichever of them arrives")

	refused := &droppingClient{faults: []error{serviceerror.NewInvalidArgument("no such update")}}
	_, err = update[any](t.Context(), New(refused, "", nil), admissionRef(), "resize-pool", nil)
	require.ErrorContains(t, err, "no such update")
	assert.Len(t, refused.ids, 1)
}
