package control_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/temporal"
	sdktest "go.temporal.io/sdk/testsuite"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/activities/control"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/codec"
)

// attempting is a run with one activity.
type attempting struct {
	control.Client

	details *commonpb.Payloads
	failure error
}

func (a *attempting) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{PendingActivities: []*workflowpb.PendingActivityInfo{
		{ActivityId: "job-00001#1", LastStartedTime: timestamppb.Now(), HeartbeatDetails: a.details},
	}}, nil
}

func (a *attempting) CompleteActivityByID(_ context.Context, _, _, _, _ string, _ any, err error) error {
	a.failure = err
	return nil
}

// A worker whose process was killed and started again left a checkpoint in its last heartbeat: the next attempt continues there.
func TestAGivenUpAttemptKeepsItsCheckpoint(t *testing.T) {
	t.Parallel()
	beat, err := codec.DataConverter().ToPayloads(contract.Heartbeat{Percent: 60, Done: 50, Checkpoint: json.RawMessage(`{"step":5}`), Worker: "node-a"})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		details    *commonpb.Payloads
		checkpoint string
		done       float64
	}{"checkpoint": {beat, `{"step":5}`, 50}, "no heartbeat": {nil, "", 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := &attempting{details: c.details}
			var suite sdktest.WorkflowTestSuite
			env := suite.NewTestActivityEnvironment()
			control.Register(env, control.New(run, contract.FleetConfig{}))
			_, err := env.ExecuteActivity(contract.GiveUpActivity, contract.GiveUpInput{WorkflowID: "group/x", ActivityID: "job-00001#1", Worker: "node-a", Reason: "gone"})
			require.NoError(t, err)
			var failed *sdk.ApplicationError
			require.ErrorAs(t, run.failure, &failed)
			assert.Equal(t, string(contract.FailureWorkerLost), failed.Type())
			assert.Equal(t, "gone", failed.Message())
			var state contract.ExecuteState
			if failed.HasDetails() {
				require.NoError(t, failed.Details(&state))
			}
			assert.Equal(t, c.checkpoint, string(state.Checkpoint))
			assert.InDelta(t, c.done, state.Done, 0)
			assert.Empty(t, state.Worker, "the run compares it with a report of the process itself")
		})
	}
}
