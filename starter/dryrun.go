package starter

import (
	"context"
	"fmt"
	"strings"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
)

// StartDryRun starts a group that detects and reports without executing
// anything and without claiming keys. unique tells several dry runs of one job
// type apart; starting one twice under one name is an error.
func (r Runs) StartDryRun(ctx context.Context, spec contract.JobTypeSpec, unique string) (RunRef, error) {
	run, err := r.client.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                                       contract.DryRunWorkflowID(spec.Name, unique),
		TaskQueue:                                contract.ControlQueue,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		StaticSummary:                            "dry run of " + spec.Name,
		StaticDetails:                            "Detects what `" + spec.Name + "` would do; nothing is executed and no key is claimed.",
		TypedSearchAttributes: temporal.NewSearchAttributes(
			temporal.NewSearchAttributeKeyKeyword(contract.SearchAttributeJobType).ValueSet(spec.Name),
		),
	}, contract.JobGroupWorkflow, contract.JobGroupInput{Spec: spec, DryRun: true})
	if err != nil {
		return RunRef{}, startError("a dry run of "+spec.Name, err)
	}
	return RunRef{WorkflowID: run.GetID(), RunID: run.GetRunID()}, nil
}

func startError(what string, err error) error {
	if strings.Contains(err.Error(), contract.SearchAttributeJobType) {
		return fmt.Errorf("start %s: %w: the namespace lacks a search attribute; `roundsman doctor` says how to create it", what, err)
	}
	return fmt.Errorf("start %s: %w", what, err)
}
