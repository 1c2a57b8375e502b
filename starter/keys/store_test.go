package keys

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/starter"
)

// silent is a server that does not answer after a write.
type silent struct {
	client.Client

	held  record
	wrote bool
}

type silentCalls struct {
	workflowservice.WorkflowServiceClient

	server *silent
}

func (s *silent) WorkflowService() workflowservice.WorkflowServiceClient {
	return silentCalls{server: s}
}

func (s silentCalls) DescribeSchedule(context.Context, *workflowservice.DescribeScheduleRequest, ...grpc.CallOption) (*workflowservice.DescribeScheduleResponse, error) {
	if s.server.wrote {
		return nil, serviceerror.NewInternal("broken")
	}
	input, err := starter.DataConverter().ToPayloads(s.server.held)
	return &workflowservice.DescribeScheduleResponse{Schedule: holder(input), ConflictToken: []byte("1")}, err
}

func (s silentCalls) UpdateSchedule(_ context.Context, in *workflowservice.UpdateScheduleRequest, _ ...grpc.CallOption) (*workflowservice.UpdateScheduleResponse, error) {
	s.server.wrote = true
	return nil, starter.DataConverter().FromPayloads(in.GetSchedule().GetAction().GetStartWorkflow().GetInput(), &s.server.held)
}

func (s *silent) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return nil, serviceerror.NewInternal("broken")
}

// The old key is revoked, so the secret of the new one must not be lost.
func TestARotationThatIsNotSeenReturnsTheSecret(t *testing.T) {
	t.Parallel()
	server := &silent{held: record{Keys: []stored{{Key{ID: "old", Name: "ci", Role: "viewer", CreatedAt: time.Now()}, "sum"}}}}
	made, secret, err := New(starter.New(server, "", nil)).Rotate(t.Context(), "old", "ann")
	var unseen *UnseenError
	require.ErrorAs(t, err, &unseen)
	assert.NotContains(t, err.Error(), secret)
	found, err := match(server.held.Keys, secret, time.Now())
	require.NoError(t, err)
	assert.Equal(t, made.ID, found.ID)

	_, secret, err = New(starter.New(&silent{}, "", nil)).Rotate(t.Context(), "old", "ann")
	require.ErrorIs(t, err, starter.ErrNotFound)
	assert.Empty(t, secret)
}

func TestRotationsAddNoKeyBeyondTheMost(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC()
	var held record
	for i := range Most {
		held.Keys = append(held.Keys, stored{Key: Key{ID: fmt.Sprint("k", i), Name: "ci", Role: "viewer"}})
	}
	for i := range 3 {
		made, err := held.rotate(fmt.Sprint("k", i), stored{Key{ID: fmt.Sprint("n", i), CreatedAt: now, CreatedBy: "ann"}, "sum"})
		require.NoError(t, err)
		assert.Equal(t, "ci", made.Name)
		assert.Len(t, held.Keys, Most)
		assert.True(t, held.has(made.ID))
	}
	_, err := held.rotate("k0", stored{Key: Key{ID: "n9", CreatedAt: now}})
	require.ErrorIs(t, err, starter.ErrNotFound)
}
