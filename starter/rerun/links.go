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

// link is a run that resumes another.
type link struct {
	run, resumes string
	started      time.Time
}

// Later lists the workflow ids of the runs that resume a run, oldest first. Visibility may lag by a second.
func (c Client) Later(ctx context.Context, of starter.Run) ([]string, error) {
	links, err := c.links(ctx, of)
	var later []string
	for _, l := range links {
		if l.resumes == of.WorkflowID && !slices.Contains(later, l.run) { // A reset run is listed twice.
			later = append(later, l.run)
		}
	}
	return later, err
}

// links lists the runs of a job type or a DAG that resume others, since the end of a run, oldest first.
func (c Client) links(ctx context.Context, of starter.Run) ([]*link, error) {
	if of.Open() || jobtype.ValidateName(of.Name()) != nil {
		return nil, nil //nolint:nilerr // no run resumes an open one, or one without a name
	}
	kind, prefix := contract.JobGroupWorkflow, contract.AdHocWorkflowID(of.JobType, contract.RetryPrefix)
	if of.Kind == starter.KindDAG {
		kind, prefix = contract.DAGWorkflow, contract.DAGWorkflowID(of.DAG, "")
	}
	query := fmt.Sprintf("WorkflowType = '%s' AND WorkflowId STARTS_WITH '%s' AND StartTime >= '%s' AND ExecutionStatus != 'ContinuedAsNew'",
		kind, prefix, of.Ended.UTC().Format(time.RFC3339Nano))
	var links []*link
	var token []byte
	for {
		page, err := c.client.Temporal().ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: c.client.Namespace(), PageSize: linkPage, NextPageToken: token, Query: query,
		})
		if err != nil {
			return nil, fmt.Errorf("list the retries of %s: %w", of.WorkflowID, rpc.Advised(err))
		}
		for _, execution := range page.GetExecutions() {
			if resumes := starter.ResumesOf(execution); resumes != "" {
				links = append(links, &link{execution.GetExecution().GetWorkflowId(), resumes, rpc.Time(execution.GetStartTime())})
			}
		}
		if token = page.GetNextPageToken(); len(token) == 0 {
			slices.SortStableFunc(links, func(a, b *link) int { return a.started.Compare(b.started) })
			return links, nil
		}
	}
}

// from lists the runs that resume a run, or a retry of it.
func from(run string, links []*link) []string {
	var all []string
	known := map[string]bool{run: true}
	for grown := true; grown; {
		grown = false
		for _, l := range links {
			if known[l.resumes] && !known[l.run] {
				known[l.run], grown = true, true
				all = append(all, l.run)
			}
		}
	}
	return all
}

// retried has the keys that earlier retries of a run did, with the retry.
func (c Client) retried(ctx context.Context, plan *Plan, run starter.Snapshot) (map[string]string, error) {
	links, err := c.links(ctx, run.Run)
	if err != nil {
		return nil, err
	}
	done := map[string]string{}
	for _, id := range from(run.WorkflowID, links) {
		jobs, err := c.completed(ctx, starter.RunRef{WorkflowID: id})
		if starter.Unanswered(err) {
			plan.Unchecked = err.Error()
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, job := range jobs {
			done[job.DedupeKey] = id
			for _, item := range job.Batch {
				done[item.DedupeKey] = id
			}
		}
	}
	return done, nil
}

// completed lists the jobs of a run that were done, batches with their items.
func (c Client) completed(ctx context.Context, of starter.RunRef) ([]starter.Item, error) {
	filter := starter.ItemFilter{States: []string{contract.JobCompleted, contract.JobWarning}, Limit: starter.All}
	jobs, _, err := c.client.Runs().Items(ctx, of, filter)
	if err == nil && slices.ContainsFunc(jobs, func(job starter.Item) bool { return job.Items > 0 }) {
		filter.Work = true
		jobs, _, err = c.client.Runs().Items(ctx, of, filter)
	}
	return jobs, err
}
