package rpc

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// closedLooks bounds the looks at a late list; closedShare is the pause between them: a share of the usual lag.
const (
	closedLooks = 20
	closedShare = 4
)

// ClosedRuns has the settings of [ClosedRuns.List].
type ClosedRuns struct {
	Lists func(ctx context.Context, request *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error)
	// Namespace and WorkflowID name the workflow. Asking is its open run.
	Namespace, WorkflowID, Asking string
	// Lag is the longest delay before visibility shows an event; Most is the most runs listed.
	Lag  time.Duration
	Most int32
}

// List returns the closed runs without continued ones, the newest first. Visibility lags: List looks again until Asking is
// the only open run.
func (r ClosedRuns) List(ctx context.Context) ([]string, error) {
	for look := 1; ; look++ {
		closed, current, err := r.look(ctx)
		if err != nil || current || look == closedLooks {
			return closed, err
		}
		if err := NextEvent(ctx, time.After(r.Lag/closedShare)); err != nil {
			return nil, err
		}
	}
}

func (r ClosedRuns) look(ctx context.Context) (closed []string, current bool, err error) {
	listed, err := r.Lists(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: r.Namespace, PageSize: r.Most,
		Query: fmt.Sprintf("WorkflowId = '%s' AND ExecutionStatus != 'ContinuedAsNew'", r.WorkflowID),
	})
	if err != nil {
		return nil, false, fmt.Errorf("look for earlier runs of %s: %w", r.WorkflowID, err)
	}
	seen, behind := false, false
	for _, execution := range listed.GetExecutions() {
		switch id := execution.GetExecution().GetRunId(); {
		case id == r.Asking:
			seen = true
		case execution.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING || execution.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_PAUSED:
			behind = true
		default:
			closed = append(closed, id)
		}
	}
	return closed, seen && !behind, nil
}
