package rerun

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

// linkPage is how many runs one query of visibility returns.
const linkPage = 500

// Later lists the workflow ids of the runs that resume a run, oldest first. Visibility may lag by a second.
func (c Client) Later(ctx context.Context, of starter.Run) ([]string, error) {
	if of.Open() || jobtype.ValidateName(of.Name()) != nil {
		return nil, nil //nolint:nilerr // no run resumes an open one, or one without a name
	}
	kind, prefix := contract.JobGroupWorkflow, contract.AdHocWorkflowID(of.JobType, contract.RetryPrefix)
	if of.Kind == starter.KindDAG {
		kind, prefix = contract.DAGWorkflow, contract.DAGWorkflowID(of.DAG, "")
	}
	query := fmt.Sprintf("WorkflowType = '%s' AND WorkflowId STARTS_WITH '%s' AND StartTime >= '%s' AND ExecutionStatus != 'ContinuedAsNew'",
		kind, prefix, of.Ended.UTC().Format(time.RFC3339Nano))
	var later []string
	var token []byte
	for {
		page, err := c.client.Temporal().ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: c.client.Namespace(), PageSize: linkPage, NextPageToken: token, Query: query,
		})
		if err != nil {
			return nil, fmt.Errorf("list the retries of %s: %w", of.WorkflowID, rpc.Advised(err))
		}
		for _, execution := range page.GetExecutions() {
			if starter.ResumesOf(execution) == of.WorkflowID {
				later = append(later, execution.GetExecution().GetWorkflowId())
			}
		}
		if token = page.GetNextPageToken(); len(token) == 0 {
			slices.Reverse(later)
			return later, nil
		}
	}
}

// retried has the keys that earlier retries of a run did, with the retry.
func (c Client) retried(ctx context.Context, plan *Plan, run starter.Snapshot) (map[string]string, error) {
	later, err := c.Later(ctx, run.Run)
	if err != nil {
		return nil, err
	}
	done := map[string]string{}
	for _, id := range later {
		jobs, _, err := c.client.Runs().Items(ctx, starter.RunRef{WorkflowID: id}, starter.ItemFilter{
			States: []string{contract.JobCompleted, contract.JobWarning}, Limit: starter.All,
		})
		if starter.Unanswered(err) {
			plan.Unchecked = err.Error()
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, job := range jobs {
			done[job.DedupeKey] = id
		}
	}
	return done, nil
}
