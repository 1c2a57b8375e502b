package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

// pause is for visibility, which shows a new workflow up to a second late.
const pause = 1200 * time.Millisecond

// latePauses grow: visibility is late by seconds under load, by minutes after a backlog.
func latePauses() []time.Duration {
	return []time.Duration{10 * time.Second, 20 * time.Second, time.Minute, 4 * time.Minute}
}

// AskHolders is [contract.AskHoldersActivity]: every running group and DAG run asserts its holdings and requests.
// With LateSince only those that visibility lists later do so. A repeat is harmless.
func (a *Activities) AskHolders(ctx context.Context, in contract.AskHoldersInput) (contract.AskHoldersResult, error) {
	previous, err := a.before(ctx, in)
	result := contract.AskHoldersResult{Inherited: a.inherited(ctx, previous)}
	if err != nil {
		return result, err
	}
	asked := map[string]bool{}
	pauses, filter := []time.Duration{0, a.pause}, ""
	if !in.LateSince.IsZero() {
		pauses, filter = a.late, " AND StartTime >= '"+in.LateSince.UTC().Format(time.RFC3339)+"'"
	}
	for _, pause := range pauses {
		if err := a.sleep(ctx, pause); err != nil {
			return result, err
		}
		running, err := a.running(ctx, filter)
		if err != nil {
			return result, err
		}
		if filter != "" {
			if err := a.known(ctx, asked); err != nil {
				return result, err
			}
		}
		for _, id := range running {
			if asked[id] {
				continue
			}
			asked[id] = true
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

func (a *Activities) sleep(ctx context.Context, pause time.Duration) error {
	for left := pause; left > 0; left -= a.interval {
		activity.RecordHeartbeat(ctx)
		if err := rpc.NextEvent(ctx, time.After(min(left, a.interval))); err != nil {
			return err
		}
	}
	return nil
}

func (a *Activities) known(ctx context.Context, asked map[string]bool) error {
	holders, err := a.holders(ctx)
	for _, holder := range holders {
		asked[holder.WorkflowID] = asked[holder.WorkflowID] || holder.FirstRunID != ""
	}
	return err
}

// mostRuns is the most runs of admission listed.
const mostRuns = 100

// before returns the run whose state is requested: the newest closed run, unless it is known.
func (a *Activities) before(ctx context.Context, in contract.AskHoldersInput) (string, error) {
	if in.Previous == "" || len(in.Known) == 0 {
		return in.Previous, nil
	}
	closed, err := rpc.ClosedRuns{
		Lists: a.temporal.ListWorkflow, Namespace: a.namespace, WorkflowID: contract.AdmissionWorkflowID,
		Asking: activity.GetInfo(ctx).WorkflowExecution.RunID, Lag: a.pause, Most: mostRuns,
	}.List(ctx)
	if err != nil || len(closed) == 0 || slices.Contains(in.Known, closed[0]) {
		return in.Previous, err
	}
	return closed[0], nil
}

func (a *Activities) inherited(ctx context.Context, previous string) contract.Inherited {
	if previous == "" {
		return contract.Inherited{}
	}
	inherited := contract.Inherited{From: previous}
	var durable contract.DurableResult
	answer, err := a.temporal.QueryWorkflowWithOptions(ctx, &client.QueryWorkflowWithOptionsRequest{
		WorkflowID: contract.AdmissionWorkflowID, RunID: previous, QueryType: contract.QueryDurable,
	})
	if err == nil {
		err = answer.QueryResult.Get(&durable)
	}
	if err != nil {
		inherited.Fault = err.Error()
	}
	inherited.Data = durable.Data
	return inherited
}

// A workflow that is paused in Temporal itself is awaited, too: it keeps its holdings.
func (a *Activities) running(ctx context.Context, filter string) ([]string, error) {
	var ids []string
	listed := map[string]bool{}
	var token []byte
	for {
		page, err := a.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: a.namespace, PageSize: 1000, NextPageToken: token,
			Query: fmt.Sprintf("WorkflowType IN ('%s', '%s') AND %s%s", contract.JobGroupWorkflow, contract.DAGWorkflow, contract.QueryOpen, filter),
		})
		if err != nil {
			return nil, fmt.Errorf("list the running groups and runs of DAGs: %w", err)
		}
		for _, execution := range page.GetExecutions() {
			if id := execution.GetExecution().GetWorkflowId(); !listed[id] {
				listed[id] = true
				ids = append(ids, id)
			}
		}
		if token = page.GetNextPageToken(); len(token) == 0 {
			return ids, nil
		}
	}
}
