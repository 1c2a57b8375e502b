package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/roundsman/roundsman/contract"
)

const (
	// pageSize is the number of runs in one query of visibility.
	pageSize = 100
	// The first sweep in an old namespace leaves the server free for others.
	mostDeleted = 2000
)

// Client is the part of the SDK's client that a sweep uses.
type Client interface {
	DescribeWorkflowExecution(ctx context.Context, workflowID, runID string) (*workflowservice.DescribeWorkflowExecutionResponse, error)
	ScheduleClient() client.ScheduleClient
	WorkflowService() workflowservice.WorkflowServiceClient
}

// Swept is the result of a sweep.
type Swept struct {
	Deleted, Kept int
	// More is true if the sweep ended before the end of the list.
	More bool
}

// Query returns the query for runs and pages that ended before an instant.
func Query(before time.Time) string {
	return fmt.Sprintf("WorkflowType IN ('%s', '%s', '%s') AND ExecutionStatus != 'Running' AND CloseTime < '%s'",
		contract.JobGroupWorkflow, contract.DAGWorkflow, contract.PageWorkflow, before.UTC().Format(time.RFC3339Nano))
}

type sweep struct {
	client    Client
	namespace string
	before    time.Time
	pause     time.Duration
	most      int
	// Whether the last run of a workflow ended before the instant, and the recent runs of Schedules.
	over   map[string]bool
	recent map[string]map[string]bool
	pages  map[string]bool
	Swept
}

func (s *sweep) run(ctx context.Context) error {
	s.over, s.recent, s.pages = map[string]bool{}, map[string]map[string]bool{}, map[string]bool{}
	for token := []byte(nil); ; {
		page, err := s.client.WorkflowService().ListWorkflowExecutions(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: s.namespace, PageSize: pageSize, NextPageToken: token, Query: Query(s.before),
		})
		if err != nil {
			return fmt.Errorf("list the runs that ended before %s: %w", s.before.Format(time.RFC3339), err)
		}
		for _, info := range page.GetExecutions() {
			if s.Deleted >= s.most {
				s.More = true
				return nil
			}
			if err := s.consider(ctx, info); err != nil {
				return err
			}
		}
		if token = page.GetNextPageToken(); len(token) == 0 {
			return nil
		}
	}
}

func (s *sweep) consider(ctx context.Context, info *workflowpb.WorkflowExecutionInfo) error {
	needed, err := s.needed(ctx, info)
	if err != nil {
		return err
	}
	if needed {
		s.Kept++
		return nil
	}
	execution := info.GetExecution()
	_, err = s.client.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace:         s.namespace,
		WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: execution.GetWorkflowId(), RunId: execution.GetRunId()},
	})
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return nil // Another control plane was faster, or visibility lags.
	}
	if err != nil {
		return fmt.Errorf("delete run %s: %w", execution.GetWorkflowId(), err)
	}
	s.Deleted++
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(s.pause):
		return nil
	}
}

func (s *sweep) needed(ctx context.Context, info *workflowpb.WorkflowExecutionInfo) (bool, error) {
	id := info.GetExecution().GetWorkflowId()
	if run, ok := contract.RunOfPage(id); ok {
		return s.reads(ctx, run)
	}
	over, err := s.isOver(ctx, id)
	if err != nil || !over {
		return true, err
	}
	if root := info.GetRootExecution().GetWorkflowId(); root != "" && root != id {
		if over, err = s.isOver(ctx, root); err != nil || !over {
			return true, err
		}
	}
	return s.remembered(ctx, info)
}

func (s *sweep) reads(ctx context.Context, workflowID string) (bool, error) {
	if needed, known := s.pages[workflowID]; known {
		return needed, nil
	}
	described, err := s.client.DescribeWorkflowExecution(ctx, workflowID, "")
	needed := false
	if _, gone := errors.AsType[*serviceerror.NotFound](err); !gone {
		if err != nil {
			return false, fmt.Errorf("look whether %s is needed: %w", workflowID, err)
		}
		if needed, err = s.needed(ctx, described.GetWorkflowExecutionInfo()); err != nil {
			return false, err
		}
	}
	s.pages[workflowID] = needed
	return needed, nil
}

// Earlier runs of an open or recently ended workflow belong to it.
func (s *sweep) isOver(ctx context.Context, workflowID string) (bool, error) {
	if over, known := s.over[workflowID]; known {
		return over, nil
	}
	described, err := s.client.DescribeWorkflowExecution(ctx, workflowID, "")
	_, gone := errors.AsType[*serviceerror.NotFound](err)
	if err != nil && !gone {
		return false, fmt.Errorf("look whether %s runs: %w", workflowID, err)
	}
	info := described.GetWorkflowExecutionInfo()
	over := gone || isClosed(info.GetStatus()) && info.GetCloseTime().AsTime().Before(s.before)
	s.over[workflowID] = over
	return over, nil
}

func isClosed(status enumspb.WorkflowExecutionStatus) bool {
	return status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING && status != enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED
}

func (s *sweep) remembered(ctx context.Context, info *workflowpb.WorkflowExecutionInfo) (bool, error) {
	payload := info.GetSearchAttributes().GetIndexedFields()[contract.SearchAttributeJobType]
	if payload == nil {
		return false, nil // It is not a run of a job type.
	}
	var jobType string
	if err := converter.GetDefaultDataConverter().FromPayload(payload, &jobType); err != nil {
		return false, fmt.Errorf("read the job type of %s: %w", info.GetExecution().GetWorkflowId(), err)
	}
	known, ok := s.recent[jobType]
	if !ok {
		known = map[string]bool{}
		described, err := s.client.ScheduleClient().GetHandle(ctx, contract.ScheduleID(jobType)).Describe(ctx)
		if _, gone := errors.AsType[*serviceerror.NotFound](err); err != nil && !gone {
			return false, fmt.Errorf("describe the schedule of %s: %w", jobType, err)
		}
		if err == nil {
			for _, action := range described.Info.RecentActions {
				if started := action.StartWorkflowResult; started != nil {
					known[started.WorkflowID] = true
				}
			}
		}
		s.recent[jobType] = known
	}
	return known[info.GetExecution().GetWorkflowId()], nil
}
