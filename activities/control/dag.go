package control

import (
	"context"
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag/spec"
)

// CompileDAG is [contract.CompileDAGActivity]. A faulty text returns a permanent error of type
// contract.DAGInvalidError with every fault and its line.
func (*Control) CompileDAG(_ context.Context, in contract.CompileDAGInput) ([]byte, error) {
	compiled, err := spec.CompileText(in.Name, in.Text, in.Files, in.Params)
	if err != nil {
		return nil, temporal.NewNonRetryableApplicationError(err.Error(), contract.DAGInvalidError, nil)
	}
	return compiled.Graph.Encode(), nil
}

// LookUpJobType is [contract.LookUpJobTypeActivity]. The result is empty if the job type is not applied.
func (c *Control) LookUpJobType(ctx context.Context, in contract.LookUpJobTypeInput) (contract.LookUpJobTypeResult, error) {
	var result contract.LookUpJobTypeResult
	described, err := c.runs.ScheduleClient().GetHandle(ctx, contract.ScheduleID(in.JobType)).Describe(ctx)
	if _, none := errors.AsType[*serviceerror.NotFound](err); none {
		return result, nil
	}
	if err != nil {
		return result, fmt.Errorf("describe the schedule of %s: %w", in.JobType, err)
	}
	action, ok := described.Schedule.Action.(*client.ScheduleWorkflowAction)
	if !ok || len(action.Args) == 0 {
		return result, nil
	}
	payload, ok := action.Args[0].(*commonpb.Payload)
	if !ok {
		return result, fmt.Errorf("the schedule of %s has an argument of type %T", in.JobType, action.Args[0])
	}
	var group contract.JobGroupInput
	if err := c.converter.FromPayload(payload, &group); err != nil {
		return result, fmt.Errorf("read the schedule of %s: %w", in.JobType, err)
	}
	result.Spec = &group.Spec
	return result, nil
}

// Noop is [contract.NoopActivity].
func (*Control) Noop(context.Context) error { return nil }
