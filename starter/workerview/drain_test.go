package workerview

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	workerpb "go.temporal.io/api/worker/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

// draining is a server with one worker, and the report of the worker's process if it answers.
type draining struct {
	client.Client

	worker contract.WorkerDetail
	report *contract.WorkerReport
}

func (d draining) QueryWorkflowWithOptions(_ context.Context, in *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	var answer any = contract.WorkersQueryResult{Workers: []contract.WorkerDetail{d.worker}}
	if in.QueryType == contract.QueryRefresh {
		if answer = d.report; d.report == nil {
			return nil, errors.New("nobody polls")
		}
	}
	payloads, err := starter.DataConverter().ToPayloads(answer)
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}, err
}

// TestADrainIsOverWhenNothingRunsOrStarts: the node is switched off then.
func TestADrainIsOverWhenNothingRunsOrStarts(t *testing.T) {
	t.Parallel()
	oldest := contract.WorkerJob{JobID: "job-00007", GroupID: "group/scrub-x", Percent: 40}
	for name, c := range map[string]struct {
		state  contract.WorkerState
		ends   bool
		report *contract.WorkerReport
		want   DrainState
	}{
		"deleted":                      {contract.WorkerDeleted, false, nil, DrainState{true, "it is DELETED"}},
		"offline":                      {contract.WorkerOffline, false, nil, DrainState{true, "it is OFFLINE"}},
		"it leaves, and is silent":     {contract.WorkerOffline, true, nil, DrainState{false, "its process does not answer; waiting until it does, or is OFFLINE"}},
		"silent":                       {contract.WorkerDraining, false, nil, DrainState{false, "its process does not answer; waiting until it does, or is OFFLINE"}},
		"a job runs":                   {contract.WorkerDraining, false, &contract.WorkerReport{Held: true, Executing: 1, Jobs: []contract.WorkerJob{oldest}}, DrainState{false, "1 job still running, the oldest is job-00007 of group/scrub-x at 40%"}},
		"jobs and a detection run":     {contract.WorkerDraining, false, &contract.WorkerReport{Held: true, Executing: 1, Detecting: 1}, DrainState{false, "2 jobs still running"}},
		"it leaves, and a job runs":    {contract.WorkerOffline, true, &contract.WorkerReport{Held: true, Executing: 1}, DrainState{false, "1 job still running"}},
		"its process lacks the drain":  {contract.WorkerDraining, false, &contract.WorkerReport{}, DrainState{false, "nothing runs there; its process has not heard of the drain yet"}},
		"nothing runs, and none start": {contract.WorkerDraining, false, &contract.WorkerReport{Held: true}, DrainState{true, "nothing runs there"}},
	} {
		worker := contract.WorkerDetail{Registration: contract.WorkerRegistration{ID: "n1"}, State: c.state, Leaving: c.ends}
		state, err := WatchDrain(starter.New(draining{worker: worker, report: c.report}, "", nil), "n1").Look(t.Context())
		require.NoError(t, err, name)
		assert.Equal(t, c.want, state, name)
	}
	online := contract.WorkerDetail{Registration: contract.WorkerRegistration{ID: "n1"}, State: contract.WorkerOnline}
	_, err := WatchDrain(starter.New(draining{worker: online, report: &contract.WorkerReport{Held: true}}, "", nil), "n1").Look(t.Context())
	require.ErrorAs(t, err, new(*UncordonedError))
	_, err = WatchDrain(starter.New(draining{worker: online}, "", nil), "n2").Look(t.Context())
	require.ErrorIs(t, err, starter.ErrNotFound)
}

// remote is a server with the last heartbeats of a remote worker, by queue.
type remote struct {
	draining

	beats map[string]*workerpb.WorkerHeartbeat
}

type remoteCalls struct {
	workflowservice.WorkflowServiceClient

	beats map[string]*workerpb.WorkerHeartbeat
}

func (r remote) WorkflowService() workflowservice.WorkflowServiceClient {
	return remoteCalls{beats: r.beats}
}

func (r remoteCalls) ListWorkers(context.Context, *workflowservice.ListWorkersRequest, ...grpc.CallOption) (*workflowservice.ListWorkersResponse, error) {
	answer := &workflowservice.ListWorkersResponse{}
	for queue := range r.beats {
		answer.Workers = append(answer.Workers, &workerpb.WorkerListInfo{WorkerInstanceKey: queue, WorkerIdentity: "n1@far:7", TaskQueue: queue})
	}
	return answer, nil
}

func (r remoteCalls) DescribeWorker(_ context.Context, in *workflowservice.DescribeWorkerRequest, _ ...grpc.CallOption) (*workflowservice.DescribeWorkerResponse, error) {
	return &workflowservice.DescribeWorkerResponse{WorkerInfo: &workerpb.WorkerInfo{WorkerHeartbeat: r.beats[in.GetWorkerInstanceKey()]}}, nil
}

// TestADrainOfARemoteWorkerTakesAnotherHeartbeat, whatever the clocks of the operator and of the gateways show: gateways
// stamp the heartbeats, and the next one may come through another gateway.
func TestADrainOfARemoteWorkerTakesAnotherHeartbeat(t *testing.T) {
	t.Parallel()
	detect, execute := contract.WorkerDetectQueue("n1", "i1"), contract.WorkerQueue("n1", "i1")
	for name, skews := range map[string][3]time.Duration{
		"no skew":                          {-5 * time.Second, time.Second, 6 * time.Second},
		"the operator's clock is ahead":    {-time.Hour, 5*time.Second - time.Hour, 10*time.Second - time.Hour},
		"the operator's clock is behind":   {time.Hour, time.Hour + 5*time.Second, time.Hour + 10*time.Second},
		"the gateways have other clocks":   {time.Minute, -time.Minute, time.Minute + 5*time.Second},
		"and the operator's clock, too":    {-time.Minute, -time.Hour, -2 * time.Minute},
		"one clock was put back meanwhile": {time.Second, -time.Hour, -time.Hour + time.Second},
	} {
		server := remote{beats: map[string]*workerpb.WorkerHeartbeat{}}
		server.worker = contract.WorkerDetail{State: contract.WorkerDraining, Registration: contract.WorkerRegistration{ID: "n1", Host: "far", PID: 7, Instance: "i1", Remote: true}}
		now := time.Now()
		beat := func(queue string, skew time.Duration, used int32) {
			server.beats[queue] = &workerpb.WorkerHeartbeat{TaskQueue: queue, HeartbeatTime: timestamppb.New(now.Add(skew)), ActivityTaskSlotsInfo: &workerpb.WorkerSlotsInfo{CurrentUsedSlots: used}}
		}
		watch := WatchDrain(starter.New(server, "", nil), "n1")
		look := func() DrainState {
			state, err := watch.Look(t.Context())
			require.NoError(t, err, name)
			return state
		}
		waits := DrainState{Text: "it works through a gateway; waiting for its next heartbeat"}
		beat(detect, skews[0], 0)
		beat(execute, skews[0], 0)
		assert.Equal(t, waits, look(), "%s: a job may have begun since", name)
		assert.Equal(t, waits, look(), name)
		beat(execute, skews[1], 1)
		assert.Equal(t, waits, look(), "%s: half of a heartbeat", name)
		beat(detect, skews[1], 0)
		assert.Equal(t, DrainState{Text: "1 job still running"}, look(), name)
		beat(detect, skews[2], 0)
		beat(execute, skews[2], 0)
		assert.Equal(t, DrainState{true, "nothing runs there"}, look(), name)
	}
}
