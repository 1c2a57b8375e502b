package calendar_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/calendar"
)

// server has no runs, no audit log and no Schedule. It records the order of the reads.
type server struct {
	client.Client

	mu    sync.Mutex
	reads []string
}

func (s *server) read(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads = append(s.reads, what)
}

func (s *server) ListWorkflow(context.Context, *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	s.read("runs")
	return &workflowservice.ListWorkflowExecutionsResponse{}, nil
}

func (s *server) QueryWorkflowWithOptions(context.Context, *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	return nil, serviceerror.NewNotFound("no such workflow")
}

func (s *server) WorkflowService() workflowservice.WorkflowServiceClient {
	return service{of: s}
}

type service struct {
	workflowservice.WorkflowServiceClient

	of *server
}

func (s service) DescribeNamespace(context.Context, *workflowservice.DescribeNamespaceRequest, ...grpc.CallOption) (*workflowservice.DescribeNamespaceResponse, error) {
	return &workflowservice.DescribeNamespaceResponse{}, nil
}

func (s service) DescribeSchedule(context.Context, *workflowservice.DescribeScheduleRequest, ...grpc.CallOption) (*workflowservice.DescribeScheduleResponse, error) {
	s.of.read("schedule")
	return nil, serviceerror.NewNotFound("no such Schedule")
}

// TestALedgerReadsTheRunsFirst: a run that begins in between is in its Schedule, also if the job types are named.
func TestALedgerReadsTheRunsFirst(t *testing.T) {
	t.Parallel()
	s := &server{}
	now := time.Now()
	_, err := calendar.LedgerOf(t.Context(), starter.New(s, "", nil), now, now.Add(-time.Hour), "scrub", "vacuum")
	require.ErrorIs(t, err, starter.ErrNotFound)
	require.NotEmpty(t, s.reads)
	assert.Equal(t, "runs", s.reads[0])
	assert.Contains(t, s.reads, "schedule")

	_, err = calendar.LedgerOf(t.Context(), starter.New(s, "", nil), now, now.Add(-time.Hour), "group/tidy")
	var invalid *starter.InvalidError
	require.ErrorAs(t, err, &invalid, "a caller can mend it")
}
