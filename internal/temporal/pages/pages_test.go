package pages_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/pages"
	"github.com/roundsman/roundsman/jobtype"
)

var now = time.Date(2026, 11, 27, 6, 0, 0, 0, time.UTC)

// server keeps pages as the Temporal server does.
type server struct {
	workflowservice.WorkflowServiceClient

	mu     sync.Mutex
	pages  map[string]*commonpb.Payloads
	open   []string
	ages   map[string]time.Duration
	runs   map[string]enums.WorkflowExecutionStatus
	faults map[string]error
	// before has the workflow run before the current one of a run, states the pages of states.
	before map[string]string
	states map[string]bool
	reads  int
	// waiting receives each read, which then waits for release or its own context.
	waiting, release chan struct{}
	empty            bool
	// late is the time after which each read fails; 0: it succeeds. After 100 reads the server is well again.
	late time.Duration
}

func newServer() *server {
	return &server{pages: map[string]*commonpb.Payloads{}, ages: map[string]time.Duration{}, runs: map[string]enums.WorkflowExecutionStatus{}, faults: map[string]error{}}
}

func (s *server) WorkflowService() workflowservice.WorkflowServiceClient { return s }

func (s *server) store() *pages.Store {
	return pages.NewStore(s, "default", converter.GetDefaultDataConverter())
}

func (s *server) ExecuteWorkflow(_ context.Context, options client.StartWorkflowOptions, _ any, args ...any) (client.WorkflowRun, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(args...)
	s.pages[options.ID] = payloads
	if !slices.Contains(s.open, options.ID) {
		s.open = append(s.open, options.ID)
	}
	return nil, err
}

func (s *server) GetWorkflowExecutionHistory(ctx context.Context, in *workflowservice.GetWorkflowExecutionHistoryRequest, _ ...grpc.CallOption) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	s.mu.Lock()
	s.reads++
	payloads, known := s.pages[in.GetExecution().GetWorkflowId()]
	waiting, release, busy := s.waiting, s.release, s.late > 0 && s.reads < 100
	s.mu.Unlock()
	if busy {
		time.Sleep(s.late)
		return nil, serviceerror.NewDeadlineExceeded("the server is busy")
	}
	if waiting != nil {
		waiting <- struct{}{}
		select {
		case <-ctx.Done():
			return nil, serviceerror.NewCanceled(ctx.Err().Error()) // As the SDK's client converts it.
		case <-release:
		}
	}
	switch {
	case s.empty:
		return &workflowservice.GetWorkflowExecutionHistoryResponse{}, nil
	case !known && s.runs[in.GetExecution().GetWorkflowId()] == enums.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED:
		return nil, serviceerror.NewNotFound("deleted")
	}
	return &workflowservice.GetWorkflowExecutionHistoryResponse{History: &historypb.History{Events: []*historypb.HistoryEvent{{
		Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
			WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{Input: payloads, ContinuedExecutionRunId: s.before[in.GetExecution().GetWorkflowId()]},
		},
	}}}}, nil
}

func (s *server) ListWorkflowExecutions(_ context.Context, in *workflowservice.ListWorkflowExecutionsRequest, _ ...grpc.CallOption) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	from := 0
	if token := in.GetNextPageToken(); len(token) > 0 {
		from = int(token[0])
	}
	answer := &workflowservice.ListWorkflowExecutionsResponse{}
	for _, id := range s.open[from:min(from+2, len(s.open))] {
		info := &workflowpb.WorkflowExecutionInfo{Execution: &commonpb.WorkflowExecution{WorkflowId: id}, StartTime: timestamppb.New(now.Add(-s.ages[id]))}
		if s.states[id] {
			info.Memo = &commonpb.Memo{Fields: map[string]*commonpb.Payload{"state": {}}}
		}
		answer.Executions = append(answer.Executions, info)
	}
	if from+2 < len(s.open) {
		answer.NextPageToken = []byte{byte(from + 2)}
	}
	return answer, s.faults["list"]
}

func (s *server) TerminateWorkflowExecution(_ context.Context, in *workflowservice.TerminateWorkflowExecutionRequest, _ ...grpc.CallOption) (*workflowservice.TerminateWorkflowExecutionResponse, error) {
	id := in.GetWorkflowExecution().GetWorkflowId()
	if err := s.faults[id]; err != nil {
		return nil, err
	}
	s.runs[id] = enums.WORKFLOW_EXECUTION_STATUS_TERMINATED
	return nil, nil
}

// describer looks up the runs of a server.
type describer struct{ *server }

func (s describer) DescribeWorkflowExecution(_ context.Context, id, runID string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if err := s.faults[id]; err != nil {
		return nil, err
	}
	status, known := s.runs[id]
	if !known {
		return nil, serviceerror.NewNotFound("no such run")
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Status: status, Execution: &commonpb.WorkflowExecution{WorkflowId: id}, StartTime: timestamppb.New(now.Add(-s.ages[id+runID])),
	}}, nil
}

func TestAPageIsWhatWasWrittenOrLost(t *testing.T) {
	t.Parallel()
	s := newServer()
	page, err := s.store().Put(t.Context(), "group/a", []byte("bytes"))
	require.NoError(t, err)
	again, err := s.store().Put(t.Context(), "group/a", []byte("bytes"))
	require.NoError(t, err)
	assert.Equal(t, page, again, "a repetition has no effect")
	data, err := s.store().Get(t.Context(), "group/a", page)
	require.NoError(t, err)
	assert.Equal(t, "bytes", string(data))

	_, err = s.store().Get(t.Context(), "group/b", page)
	require.ErrorIs(t, err, pages.ErrLost, "of another run")
	s.pages[contract.PageWorkflowID("group/a", page)], err = converter.GetDefaultDataConverter().ToPayloads([]byte("other bytes"))
	require.NoError(t, err)
	_, err = s.store().Get(t.Context(), "group/a", page)
	require.ErrorIs(t, err, pages.ErrLost, "somebody started a workflow with its id")
	s.pages[contract.PageWorkflowID("group/a", page)] = nil
	_, err = s.store().Get(t.Context(), "group/a", page)
	require.ErrorIs(t, err, pages.ErrLost, "or one without input")
	s.empty = true
	_, err = s.store().Get(t.Context(), "group/a", page)
	require.ErrorContains(t, err, "no event")
	require.NotErrorIs(t, err, pages.ErrLost, "another try may help")
}

// TestACanceledReaderDisturbsNoOther: readers of a page share one read. The end of the first reader's context fails
// only the first.
func TestACanceledReaderDisturbsNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, canceledReader)
}

func canceledReader(t *testing.T) {
	s := newServer()
	packed, err := pages.PackProposals([]jobtype.Proposal{{Summary: "one"}, {Summary: "two"}})
	require.NoError(t, err)
	page, err := s.store().Put(t.Context(), "group/a", packed)
	require.NoError(t, err)
	s.waiting, s.release = make(chan struct{}), make(chan struct{})
	reader := pages.NewProposals(s.store())
	first, cancel := context.WithCancel(t.Context())
	got := make(chan error)
	go func() { _, err := reader.List(first, "group/a", page); got <- err }()
	<-s.waiting
	const others = 3
	joined := make(chan error, others)
	for range others {
		go func() {
			proposal, err := reader.Get(t.Context(), "group/a", contract.ProposalRef{Page: page, Position: 1})
			if err == nil && proposal.Summary != "two" {
				err = errors.New("another proposal: " + proposal.Summary)
			}
			joined <- err
		}()
	}
	go func() {
		for range s.waiting { // The reads after the first one.
		}
	}()
	synctest.Wait() // The others have joined the first read.
	cancel()
	require.Error(t, <-got)
	close(s.release)
	for range others {
		require.NoError(t, <-joined)
	}
	close(s.waiting)
	s.waiting = nil
	for _, position := range []int{-1, 2, 1 << 40} {
		_, err := reader.Get(t.Context(), "group/a", contract.ProposalRef{Page: page, Position: position})
		require.ErrorIs(t, err, pages.ErrLost)
	}
}

// TestABusyServerEndsARead: readers that share a read do not repeat it for ever if the server gives up.
func TestABusyServerEndsARead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.late = time.Second
		reader := pages.NewProposals(s.store())
		const readers = 3
		got := make(chan error)
		for range readers {
			go func() { _, err := reader.List(t.Context(), "group/a", "page"); got <- err }()
		}
		for range readers {
			require.Error(t, <-got)
		}
		assert.LessOrEqual(t, s.reads, readers)
	})
}

// TestManyPages: the readers forget the oldest pages and read them again.
func TestManyPages(t *testing.T) {
	t.Parallel()
	s := newServer()
	reader, cache := pages.NewProposals(s.store()), pages.NewCache(s.store())
	var names []string
	for i := range 200 {
		packed, err := pages.PackProposals([]jobtype.Proposal{{Summary: fmt.Sprint(i)}})
		require.NoError(t, err)
		page, err := s.store().Put(t.Context(), "group/a", packed)
		require.NoError(t, err)
		names = append(names, page)
	}
	for round := range 2 {
		for i, page := range names {
			list, err := reader.List(t.Context(), "group/a", page)
			require.NoError(t, err)
			assert.Equal(t, fmt.Sprint(i), list[0].Summary)
			data, err := cache.Get(t.Context(), "group/a", page)
			require.NoError(t, err)
			list, err = pages.OpenProposals(data)
			require.NoError(t, err)
			assert.Equal(t, fmt.Sprint(i), list[0].Summary)
		}
		assert.Equal(t, (round+1)*400, s.reads, "none of 200 is kept until it is read again")
	}
	for _, page := range names[190:] {
		_, err := reader.List(t.Context(), "group/a", page)
		require.NoError(t, err)
	}
	assert.Equal(t, 800, s.reads, "the last ones are kept")
}

// TestSweep: pages of ended runs are closed, independent of others.
func TestSweep(t *testing.T) {
	t.Parallel()
	s := newServer()
	const (
		running, paused, completed = enums.WORKFLOW_EXECUTION_STATUS_RUNNING, enums.WORKFLOW_EXECUTION_STATUS_PAUSED, enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
	)
	s.runs = map[string]enums.WorkflowExecutionStatus{"group/ended": completed, "group/runs": running, "group/paused": paused, "group/sub/job-00001": completed, "group/later": completed}
	s.faults = map[string]error{"group/unknown": errors.New("the server is busy"), "page/group/ended/b": errors.New("cannot be closed")}
	s.open = []string{
		"page/group/unknown/a", "page/group/ended/b", "page/group/ended/c", "page/group/runs/d", "page/group/paused/e", "page/group/never/f",
		"page/group/new/g", "page/group/sub/job-00001/h", "page/", "something else", "page/group/later/i",
	}
	for _, id := range s.open {
		s.ages[id] = 2 * time.Hour
	}
	s.ages["page/group/new/g"] = time.Minute
	closed, err := pages.NewKeeper(s.store(), describer{s}, slog.New(slog.DiscardHandler)).Sweep(t.Context(), now)
	require.ErrorContains(t, err, "the server is busy")
	require.ErrorContains(t, err, "cannot be closed")
	var ended []string
	for _, id := range s.open {
		if s.runs[id] == enums.WORKFLOW_EXECUTION_STATUS_TERMINATED {
			ended = append(ended, id)
		}
	}
	assert.Equal(t, []string{"page/group/ended/c", "page/group/never/f", "page/group/sub/job-00001/h", "page/group/later/i"}, ended)
	assert.Equal(t, len(ended), closed)
}

// TestSweepOfStates: a state is closed when it was written before the workflow run that wrote the one in force. Other pages stay
// as long as their run.
func TestSweepOfStates(t *testing.T) {
	t.Parallel()
	s := newServer()
	s.runs = map[string]enums.WorkflowExecutionStatus{"group/runs": enums.WORKFLOW_EXECUTION_STATUS_RUNNING, "group/first": enums.WORKFLOW_EXECUTION_STATUS_RUNNING}
	s.before = map[string]string{"group/runs": "third"}
	s.ages = map[string]time.Duration{
		"group/runsthird": time.Hour, "page/group/runs/left": 2 * time.Hour, "page/group/runs/record": 2 * time.Hour, "page/group/runs/read": 30 * time.Minute,
		"page/group/first/early": 2 * time.Hour,
	}
	s.open = []string{"page/group/runs/left", "page/group/runs/record", "page/group/runs/read", "page/group/first/early"}
	s.states = map[string]bool{"page/group/runs/left": true, "page/group/runs/read": true, "page/group/first/early": true}
	for run, input := range map[string]any{
		"group/runs": contract.JobGroupInput{State: &contract.JobGroupState{StatePages: contract.StatePages{Pages: []string{"read", "shared"}}}},
		"dag/runs":   contract.DAGInput{Carry: &contract.DAGCarry{StatePages: contract.StatePages{Pages: []string{"shared"}}}},
	} {
		var err error
		s.pages[run], err = converter.GetDefaultDataConverter().ToPayloads(input, []byte("the second argument"))
		require.NoError(t, err)
		s.runs[run], s.before[run], s.ages[run+"third"] = enums.WORKFLOW_EXECUTION_STATUS_RUNNING, "third", time.Hour
		shared := contract.PageWorkflowID(run, "shared") // An earlier state had the same part.
		s.open, s.ages[shared], s.states[shared] = append(s.open, shared), 2*time.Hour, true
	}
	closed, err := pages.NewKeeper(s.store(), describer{s}, slog.New(slog.DiscardHandler)).Sweep(t.Context(), now)
	require.NoError(t, err)
	assert.Equal(t, 1, closed)
	assert.Equal(t, enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, s.runs["page/group/runs/left"])
}
