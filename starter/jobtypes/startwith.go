package jobtypes

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/starter"
)

// OwnParams are the params of one run.
type OwnParams struct {
	// ID names the run.
	ID string
	// Params replace those of the job type. Names are the keys that differ, for the audit log: values can be secret.
	Params json.RawMessage
	Names  []string
	// IgnoreWindow starts the run in a closed window.
	IgnoreWindow bool
}

// StartWith starts a run with its own params. A Schedule cannot hand these over, so the run has the id of a
// submission, and neither reads nor extends the record of the job type's runs.
func (c Client) StartWith(ctx context.Context, known JobType, own OwnParams) (starter.RunRef, error) {
	if known.Fault != "" {
		return starter.RunRef{}, &starter.RefusedError{Asked: "job type " + known.Name, Reason: known.Fault}
	}
	input := contract.JobGroupInput{Spec: known.Spec, OwnParams: true}
	input.Spec.Params, input.Spec.AwaitedBy = own.Params, nil // Its success is none of the job type.
	id := contract.AdHocWorkflowID(known.Name, own.ID)
	if own.IgnoreWindow {
		input.IgnoreWindow = id
	}
	run, err := c.client.Temporal().ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: id, TaskQueue: contract.ControlQueue, WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		StaticSummary:                            fmt.Sprintf("%s with own params: %s", known.Name, strings.Join(own.Names, ", ")),
		TypedSearchAttributes: temporal.NewSearchAttributes(
			temporal.NewSearchAttributeKeyKeyword(contract.SearchAttributeJobType).ValueSet(known.Name),
		),
	}, contract.JobGroupWorkflow, input)
	if err != nil {
		return starter.RunRef{}, fmt.Errorf("start a run of %s: %w", known.Name, rpc.Advised(err))
	}
	c.client.Audit().Record(ctx, contract.AuditEntry{
		Action: "jobtype.run", JobType: known.Name, Object: id, Detail: "with own params: " + strings.Join(own.Names, ", "),
	})
	return starter.RunRef{WorkflowID: id, RunID: run.GetRunID()}, nil
}
