package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/roundsman/roundsman/contract"
)

// pause is how long after the first look the second one comes: a group that has
// just started shows in visibility up to a second later.
const pause = 1200 * time.Millisecond

// AskHolders is [contract.AskHoldersActivity]: every running group and
// run of a DAG is asked to say what it holds. A repeat asks again, which is harmless.
func (a *Activities) AskHolders(ctx context.Context) (contract.AskHoldersResult, error) {
	var result contract.AskHoldersResult
	for look := range 2 {
		if look > 0 {
			select {
			case <-time.After(a.pause):
			case <-ctx.Done():
				return result, ctx.Err()
			}
		}
		running, err := a.running(ctx)
		if err != nil {
			return result, err
		}
		for _, id := range running {
			if slices.Contains(result.WorkflowIDs, id) {
				continue
			}
			err := a.temporal.SignalWorkflow(ctx, id, "", contract.SignalReassert, nil)
			if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
				continue // It has ended since.
			}
			if err != nil {
				return result, fmt.Errorf("ask %s: %w", id, err)
			}
			result.WorkflowIDs = append(result.WorkflowIDs, id)
		}
	}
	return result, nil
}

// running lists the open workflows that may hold something. One that is paused in
// Temporal itself holds what it has, and says so when it is unpaused: it is waited
// for as one that does not answer is.
func (a *Activities) running(ctx context.Context) ([]string, error) {
	var ids []string
	var token []byte
	for {
		page, err := a.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: a.namespace, PageSize: 1000, NextPageToken: token,
			Query: fmt.Sprintf("WorkflowType IN ('%s', '%s') AND %s", contract.JobGroupWorkflow, contract.DAGWorkflow, contract.QueryOpen),
		})
		if err != nil {
			return nil, fmt.Errorf("list the running groups and runs of DAGs: %w", err)
		}
		for _, execution := range page.GetExecutions() {
			if id := execution.GetExecution().GetWorkflowId(); !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		if token = page.GetNextPageToken(); len(token) == 0 {
			return ids, nil
		}
	}
}
