package workerview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/registry"
	"github.com/roundsman/roundsman/starter"
)

// describers is the number of runs, or of heartbeats, read at once.
const describers = 8

// maxSearched bounds the open runs searched for jobs of a worker that does not answer. It is the
// page size of a remote worker's search, which has no bound.
const maxSearched = 1000

// Jobs lists the attempts on a worker: from its process, else from the open runs. A remote worker has no such
// process, so all open runs are searched.
func Jobs(ctx context.Context, client *starter.Client, id string) ([]contract.WorkerJob, error) {
	worker, err := client.Workers().Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if !worker.Registration.Remote {
		shown, err := asked(ctx, client.Workers(), id)
		if err != nil || shown.Report != nil {
			return jobsOf(shown.Report), err
		}
		return jobsOfRuns(ctx, client, id)
	}
	open, err := openRuns(ctx, client)
	if err != nil {
		return nil, err
	}
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		found []contract.WorkerJob
		fault error
	)
	for describer := range min(describers, len(open)) {
		group.Go(func() {
			for i := describer; i < len(open); i += describers {
				jobs, err := jobsIn(ctx, client, worker.Registration, open[i])
				mu.Lock()
				found, fault = append(found, jobs...), errors.Join(fault, err)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	slices.SortFunc(found, func(a, b contract.WorkerJob) int { return a.StartedAt.Compare(b.StartedAt) })
	return found, fault
}

// openRuns lists the workflow ids of all open runs.
func openRuns(ctx context.Context, client *starter.Client) (open []string, err error) {
	request := &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: client.Namespace(), PageSize: maxSearched,
		Query: fmt.Sprintf("WorkflowType IN ('%s', '%s') AND %s", contract.JobGroupWorkflow, contract.DAGWorkflow, contract.QueryOpen),
	}
	for {
		page, err := client.Temporal().ListWorkflow(ctx, request)
		if err != nil {
			return nil, fmt.Errorf("list the open runs: %w", err)
		}
		for _, execution := range page.GetExecutions() {
			open = append(open, execution.GetExecution().GetWorkflowId())
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return open, nil
		}
	}
}

func jobsOf(report *contract.WorkerReport) []contract.WorkerJob {
	if report == nil {
		return nil
	}
	return report.Jobs
}

func jobsOfRuns(ctx context.Context, client *starter.Client, id string) ([]contract.WorkerJob, error) {
	items, err := itemsOn(ctx, client, id)
	jobs := make([]contract.WorkerJob, len(items))
	for i, item := range items {
		jobs[i] = contract.WorkerJob{
			JobID: item.ID, GroupID: item.Run.WorkflowID, JobType: starter.NameOfRun(item.Run.WorkflowID), State: contract.WorkerJobLost,
			Attempt: item.Attempt, StartedAt: item.StartedAt, Percent: -1, Message: item.Waiting,
		}
		if item.Active != nil && item.Active.Progress != nil {
			jobs[i].Percent, jobs[i].Stage = item.Active.Progress.Percent, item.Active.Progress.Stage
		}
	}
	return jobs, err
}

func itemsOn(ctx context.Context, client *starter.Client, id string) ([]starter.Item, error) {
	return client.Runs().Search(ctx, starter.ItemSearch{
		Runs: starter.RunFilter{Running: true, SubDAGs: true, Limit: maxSearched}, Worker: id, States: heldStates(), Limit: maxSearched,
	})
}

func jobsIn(ctx context.Context, client *starter.Client, worker contract.WorkerRegistration, workflowID string) ([]contract.WorkerJob, error) {
	described, err := client.Temporal().DescribeWorkflowExecution(ctx, workflowID, "")
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look into run %s: %w", workflowID, err)
	}
	var jobs []contract.WorkerJob
	for _, activity := range described.GetPendingActivities() {
		if activity.GetState() == enums.PENDING_ACTIVITY_STATE_SCHEDULED || activity.GetLastWorkerIdentity() != registry.Identity(worker) {
			continue
		}
		job := contract.WorkerJob{
			JobID: contract.JobOfAttempt(activity.GetActivityId()), GroupID: workflowID, JobType: starter.NameOfRun(workflowID), State: contract.WorkerJobRunning,
			Detection: activity.GetActivityType().GetName() == contract.DetectActivity, StartedAt: activity.GetLastStartedTime().AsTime(), Percent: -1,
		}
		if at := activity.GetLastHeartbeatTime(); at != nil {
			job.ReportedAt = at.AsTime()
		}
		var beat contract.Heartbeat
		if details := activity.GetHeartbeatDetails(); details != nil && starter.DataConverter().FromPayloads(details, &beat) == nil {
			job.Percent, job.Stage, job.Message = beat.Percent, beat.Stage, beat.Message
		}
		jobs = append(jobs, job)
	}
	return jobs, nil
}
