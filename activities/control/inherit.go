package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
)

// Bounds of asking a run that has ended: its whole history is replayed for it.
const (
	inheritAttempts = 3
	inheritTimeout  = 3 * time.Second
)

// inheritance finds out whether an entity is running and, if it is not, what its
// last run knew that nobody else does. A run that was ended answers queries as
// long as its history is kept. A state that cannot be had does not prevent the start: it
// comes back as the Fault. An entity that never ran leaves nothing.
func (c *Control) inheritance(ctx context.Context, workflowID string) (running bool, inherited contract.Inherited, err error) {
	described, err := c.runs.DescribeWorkflowExecution(ctx, workflowID, "")
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return false, inherited, nil
	}
	if err != nil {
		return false, inherited, fmt.Errorf("look whether %s runs: %w", workflowID, err)
	}
	info := described.GetWorkflowExecutionInfo()
	if status := info.GetStatus(); status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING || status == enums.WORKFLOW_EXECUTION_STATUS_PAUSED {
		return true, inherited, nil
	}
	inherited.From = info.GetExecution().GetRunId()
	for range inheritAttempts {
		if inherited.Data, err = c.durableOf(ctx, workflowID, inherited.From); err == nil {
			return false, inherited, nil
		}
		if ctx.Err() != nil {
			return false, inherited, ctx.Err()
		}
	}
	inherited.Fault = err.Error()
	return false, inherited, nil
}

func (c *Control) durableOf(ctx context.Context, workflowID, runID string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, inheritTimeout)
	defer cancel()
	response, err := c.fleet.QueryWorkflowWithOptions(ctx, &client.QueryWorkflowWithOptionsRequest{
		WorkflowID: workflowID, RunID: runID, QueryType: contract.QueryDurable,
	})
	if err != nil {
		return nil, fmt.Errorf("ask %s, which has ended: %w", workflowID, err)
	}
	var result contract.DurableResult
	if err := response.QueryResult.Get(&result); err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", workflowID, err)
	}
	return result.Data, nil
}
