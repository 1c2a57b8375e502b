package starter

import (
	"context"
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

// NotApplied returns the error for a job type that was not applied.
func NotApplied(name string) *NotFoundError {
	return &NotFoundError{What: "job type", Name: name, Hint: "see `roundsman jobtypes`, or apply a configuration that has it"}
}

// DescribeSchedule reads the Schedule of a job type, by any creator. A missing one gives [NotApplied].
func (c *Client) DescribeSchedule(ctx context.Context, jobType string) (*workflowservice.DescribeScheduleResponse, error) {
	var response *workflowservice.DescribeScheduleResponse
	err := rpc.Retry(ctx, func(ctx context.Context) error {
		var callErr error
		response, callErr = c.temporal.WorkflowService().DescribeSchedule(ctx, &workflowservice.DescribeScheduleRequest{
			Namespace: c.namespace, ScheduleId: contract.ScheduleID(jobType),
		})
		return callErr
	})
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return nil, NotApplied(jobType)
	}
	if err != nil {
		return nil, fmt.Errorf("describe Schedule %s: %w", contract.ScheduleID(jobType), err)
	}
	return response, nil
}

// RefsOf converts workflow executions to references.
func RefsOf(executions []*commonpb.WorkflowExecution) []RunRef {
	var refs []RunRef
	for _, execution := range executions {
		refs = append(refs, RunRef{WorkflowID: execution.GetWorkflowId(), RunID: execution.GetRunId()})
	}
	return refs
}

// FirstOpen returns the first open run. A Schedule notices the end of its group a moment late.
func (r Runs) FirstOpen(ctx context.Context, refs []RunRef) (RunRef, bool) {
	for _, ref := range refs {
		newest := RunRef{WorkflowID: ref.WorkflowID}
		if described, err := r.Describe(ctx, newest); err == nil && described.Open() {
			return newest, true
		}
	}
	return RunRef{}, false
}

// Latest returns the running group of a job type, or the last one of its Schedule. It reads the Schedule, not
// visibility, which lags.
func (r Runs) Latest(ctx context.Context, jobType string) (RunRef, error) {
	schedule, err := r.client.DescribeSchedule(ctx, jobType)
	if err != nil {
		return RunRef{}, err
	}
	if running, open := r.FirstOpen(ctx, RefsOf(schedule.GetInfo().GetRunningWorkflows())); open {
		return running, nil
	}
	if recent := schedule.GetInfo().GetRecentActions(); len(recent) > 0 {
		return RunRef{WorkflowID: recent[len(recent)-1].GetStartWorkflowResult().GetWorkflowId()}, nil
	}
	return RunRef{}, &NotFoundError{
		What: "run of job type", Name: jobType,
		Hint: "it has not run yet; start it with `roundsman start " + jobType + "`",
	}
}
