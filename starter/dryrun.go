package starter

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

// StartDryRun starts a group that detects and executes nothing. unique distinguishes dry runs of one job type.
func (r Runs) StartDryRun(ctx context.Context, spec contract.JobTypeSpec, unique string) (RunRef, error) {
	run, err := r.client.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                                       contract.DryRunWorkflowID(spec.Name, unique),
		TaskQueue:                                contract.ControlQueue,
		WorkflowIDReusePolicy:                    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		StaticSummary:                            "dry run of " + spec.Name,
		StaticDetails:                            "Detects what `" + spec.Name + "` would do; nothing is executed and no key is claimed.",
		TypedSearchAttributes: temporal.NewSearchAttributes(
			temporal.NewSearchAttributeKeyKeyword(contract.SearchAttributeJobType).ValueSet(spec.Name),
		),
	}, contract.JobGroupWorkflow, contract.JobGroupInput{Spec: spec, DryRun: true})
	if _, exists := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); exists {
		if _, repeatable := RequestOf(ctx); repeatable {
			return RunRef{WorkflowID: contract.DryRunWorkflowID(spec.Name, unique)}, nil
		}
	}
	if err != nil {
		return RunRef{}, fmt.Errorf("start a dry run of %s: %w", spec.Name, rpc.Advised(err))
	}
	return RunRef{WorkflowID: run.GetID(), RunID: run.GetRunID()}, nil
}
