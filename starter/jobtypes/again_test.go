package jobtypes

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

// twice is a server that has run each tick. A backfill has started them again, and visibility lists the open runs first.
type twice struct {
	client.Client

	ran, again, ended time.Time
	// lags: visibility lacks the new runs.
	lags bool
}

func (s *twice) ListWorkflow(_ context.Context, in *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	first, second := &workflowservice.ListWorkflowExecutionsResponse{}, &workflowservice.ListWorkflowExecutionsResponse{}
	for i := range exactOutcomes + 1 {
		id := tickOf(i)
		if !strings.Contains(in.GetQuery(), "'"+id+"'") {
			continue
		}
		one := func(run string, at time.Time, status enumspb.WorkflowExecutionStatus) *workflowpb.WorkflowExecutionInfo {
			return &workflowpb.WorkflowExecutionInfo{
				Execution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: run}, Type: &commonpb.WorkflowType{Name: contract.JobGroupWorkflow},
				Status: status, StartTime: timestamppb.New(at), CloseTime: timestamppb.New(s.ended),
			}
		}
		if !s.lags {
			first.Executions = append(first.Executions, one("new", s.again, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING))
		}
		second.Executions = append(second.Executions, one("old", s.ran, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED))
	}
	first.Executions = append(first.Executions, second.GetExecutions()...)
	return first, nil
}

func (s *twice) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return nil, serviceerror.NewUnavailable("busy")
}

func tickOf(i int) string { return fmt.Sprintf("group/type-%02d-2026-11-20T00:00:00Z", i) }

// TestARunThatIsStartedAgainIsOpen: the first run of the tick has the same id and has ended. A list of many job types reads
// visibility.
func TestARunThatIsStartedAgainIsOpen(t *testing.T) {
	t.Parallel()
	for _, lags := range []bool{false, true} {
		server := &twice{ran: time.Unix(1000, 0).UTC(), ended: time.Unix(2000, 0).UTC(), again: time.Unix(3000, 0).UTC(), lags: lags}
		var types []JobType
		for i := range exactOutcomes + 1 {
			fresh, old := starter.RunRef{WorkflowID: tickOf(i), RunID: "new"}, starter.RunRef{WorkflowID: tickOf(i), RunID: "old"}
			types = append(types, JobType{
				Name: fmt.Sprintf("type-%02d", i), Running: []starter.RunRef{fresh},
				Recent: []ScheduledRun{{RunRef: fresh, StartedAt: server.again.Add(20 * time.Millisecond)}, {RunRef: old, StartedAt: server.ran}},
			})
		}
		Of(starter.New(server, "", nil)).AddOutcomes(t.Context(), types, 1)
		for _, known := range types {
			assert.Len(t, known.Running, 1)
			assert.Zero(t, known.Recent[0].EndedAt)
			if !lags {
				assert.Equal(t, starter.StatusRunning, known.Recent[0].Status)
			}
		}
	}
}

// TestARunThatWasResetIsOpen: its former workflow run ended after the start that the Schedule notes.
func TestARunThatWasResetIsOpen(t *testing.T) {
	t.Parallel()
	server := &twice{ran: time.Unix(1000, 0).UTC(), ended: time.Unix(2000, 0).UTC(), again: time.Unix(2000, 0).UTC()}
	var types []JobType
	for i := range exactOutcomes + 1 {
		types = append(types, JobType{Recent: []ScheduledRun{{RunRef: starter.RunRef{WorkflowID: tickOf(i), RunID: "old"}, StartedAt: server.ran}}})
	}
	Of(starter.New(server, "", nil)).AddOutcomes(t.Context(), types, 1)
	for _, known := range types {
		assert.Equal(t, starter.StatusRunning, known.Recent[0].Status)
		assert.Zero(t, known.Recent[0].EndedAt)
	}
}
