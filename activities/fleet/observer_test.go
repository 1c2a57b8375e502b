package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/serviceerror"
	workerpb "go.temporal.io/api/worker/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/temporal"
	sdktest "go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// server is a list of workers like the server's: it filters by heartbeat time and pages.
type server struct {
	mu          sync.Mutex
	beats       map[string]*workerpb.WorkerHeartbeat
	faults      []error
	pageSize    int
	pages       int
	unsupported bool
	described   func(n int)
	reads       int
	asked       []string
}

func newServer() *server {
	return &server{beats: map[string]*workerpb.WorkerHeartbeat{}, pageSize: 2}
}

func (s *server) beat(id string, at time.Time, status enums.WorkerStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, queue := range []string{contract.WorkerQueue(id, "1"), contract.WorkerDetectQueue(id, "1")} {
		used := int32(1)
		if queue == contract.WorkerQueue(id, "1") {
			used = 3
		}
		s.beats[queue] = &workerpb.WorkerHeartbeat{
			WorkerInstanceKey: queue, TaskQueue: queue, HeartbeatTime: timestamppb.New(at), Status: status,
			ActivityTaskSlotsInfo: &workerpb.WorkerSlotsInfo{CurrentUsedSlots: used},
		}
	}
}

func (s *server) DescribeNamespace(context.Context, *workflowservice.DescribeNamespaceRequest, ...grpc.CallOption) (*workflowservice.DescribeNamespaceResponse, error) {
	return &workflowservice.DescribeNamespaceResponse{NamespaceInfo: &namespacepb.NamespaceInfo{
		Capabilities: &namespacepb.NamespaceInfo_Capabilities{WorkerHeartbeats: !s.unsupported},
	}}, nil
}

// QueryWorkflow records the process that was requested to read the registry.
func (s *server) QueryWorkflow(_ context.Context, in *workflowservice.QueryWorkflowRequest, _ ...grpc.CallOption) (*workflowservice.QueryWorkflowResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, in.GetQuery().GetQueryType()+" "+in.GetExecution().GetWorkflowId())
	return &workflowservice.QueryWorkflowResponse{}, nil
}

func (s *server) DescribeWorker(_ context.Context, in *workflowservice.DescribeWorkerRequest, _ ...grpc.CallOption) (*workflowservice.DescribeWorkerResponse, error) {
	s.mu.Lock()
	found := s.beats[in.GetWorkerInstanceKey()]
	s.reads++
	n := s.reads
	s.mu.Unlock()
	if s.described != nil {
		defer s.described(n)
	}
	if found == nil {
		return nil, serviceerror.NewNotFound("expired")
	}
	return &workflowservice.DescribeWorkerResponse{WorkerInfo: &workerpb.WorkerInfo{WorkerHeartbeat: found}}, nil
}

func (s *server) ListWorkers(_ context.Context, in *workflowservice.ListWorkersRequest, _ ...grpc.CallOption) (*workflowservice.ListWorkersResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.faults) > 0 {
		fault := s.faults[0]
		s.faults = s.faults[1:]
		return nil, fault
	}
	s.pages++
	matches, err := filterOf(in.GetQuery())
	if err != nil {
		return nil, err
	}
	var all []*workerpb.WorkerListInfo
	for _, key := range sortedKeys(s.beats) {
		if b := s.beats[key]; matches(b) {
			all = append(all, &workerpb.WorkerListInfo{WorkerInstanceKey: key, TaskQueue: b.GetTaskQueue(), Status: b.GetStatus()})
		}
	}
	start := 0
	if token := in.GetNextPageToken(); len(token) > 0 {
		_, _ = fmt.Sscan(string(token), &start)
	}
	end := min(start+s.pageSize, len(all))
	answer := &workflowservice.ListWorkersResponse{Workers: all[start:end]}
	if end < len(all) {
		answer.NextPageToken = []byte(fmt.Sprint(end))
	}
	return answer, nil
}

func filterOf(query string) (func(*workerpb.WorkerHeartbeat) bool, error) {
	times := func(layout string) (from, to time.Time, err error) {
		parts := strings.Split(query, "'")
		if len(parts) != 7 {
			return from, to, fmt.Errorf("query %q is not of the form %s", query, layout)
		}
		if from, err = time.Parse(time.RFC3339Nano, parts[3]); err == nil {
			to, err = time.Parse(time.RFC3339Nano, parts[5])
		}
		return from, to, err
	}
	switch {
	case strings.Contains(query, "HeartbeatTime >= "):
		from, to, err := times("near")
		return func(b *workerpb.WorkerHeartbeat) bool {
			at := b.GetHeartbeatTime().AsTime()
			return !at.Before(from) && !at.After(to)
		}, err
	case strings.Contains(query, "HeartbeatTime < "):
		from, to, err := times("far")
		return func(b *workerpb.WorkerHeartbeat) bool {
			at := b.GetHeartbeatTime().AsTime()
			return at.Before(from) || at.After(to)
		}, err
	case strings.HasPrefix(query, "TaskQueue = "):
		return func(b *workerpb.WorkerHeartbeat) bool { return strings.Contains(query, "'"+b.GetTaskQueue()+"'") }, nil
	default:
		return nil, fmt.Errorf("unexpected query %q", query)
	}
}

// fast has an interval of 50 ms: shorter than real workers can beat.
func fast() *contract.FleetConfig {
	return &contract.FleetConfig{HeartbeatInterval: jobtype.Duration(50 * time.Millisecond)}
}

func observe(t *testing.T, s *server, in contract.ObserveWorkersInput, left ...memory) (contract.ObserveWorkersResult, error) {
	t.Helper()
	var suite sdktest.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	// An observation without changes continues for ever.
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
	observer := NewObserver(s, "default", Fixed{UnreachableAfter: jobtype.Duration(time.Hour)})
	Register(env, observer)
	for _, m := range left {
		env.SetHeartbeatDetails(m)
	}
	value, err := env.ExecuteActivity(contract.ObserveWorkersActivity, in)
	if err != nil {
		return contract.ObserveWorkersResult{}, err
	}
	var result contract.ObserveWorkersResult
	require.NoError(t, value.Get(&result))
	return result, nil
}

func TestObserveTellsItsThresholds(t *testing.T) {
	t.Parallel()
	result, err := observe(t, newServer(), contract.ObserveWorkersInput{})
	require.NoError(t, err)
	require.NotNil(t, result.Config)
	assert.Equal(t, jobtype.Duration(time.Hour), result.Config.UnreachableAfter)
	assert.Equal(t, jobtype.Duration(3*time.Hour), result.Config.OfflineAfter)
}

func TestObserveSeesWhoBeats(t *testing.T) {
	t.Parallel()
	s := newServer()
	for _, id := range []string{"a", "b", "c"} {
		s.beat(id, time.Now(), enums.WORKER_STATUS_RUNNING)
	}
	s.beats["other"] = &workerpb.WorkerHeartbeat{WorkerInstanceKey: "other", TaskQueue: "roundsman/worker/", HeartbeatTime: timestamppb.Now()}
	result, err := observe(t, s, contract.ObserveWorkersInput{Config: fast()})
	require.NoError(t, err)
	require.Len(t, result.Changes, 3, "all pages, and no queue that is not a worker's")
	for i, id := range []string{"a", "b", "c"} {
		assert.Equal(t, id, result.Changes[i].ID, "in order")
		assert.True(t, result.Changes[i].Fresh)
		assert.True(t, result.Changes[i].Seen)
	}
	assert.False(t, result.SightUntil.IsZero())
}

func TestObserveReportsLossOfFreshness(t *testing.T) {
	t.Parallel()
	s := newServer()
	died := time.Now()
	s.beat("a", died, enums.WORKER_STATUS_RUNNING)
	result, err := observe(t, s, contract.ObserveWorkersInput{
		Config: fast(), SightSince: died.Add(-time.Minute), SightUntil: died,
		Known: []contract.WorkerPulse{{Incarnation: contract.Incarnation{ID: "a", Instance: "1"}, LastChange: died, Fresh: true, Seen: true}},
	})
	require.NoError(t, err)
	require.Len(t, result.Changes, 1)
	assert.False(t, result.Changes[0].Fresh)
	assert.WithinRange(t, result.Changes[0].LastChange, died.Add(-100*time.Millisecond), result.SightUntil.Add(-120*time.Millisecond), "however late the first look was")
	assert.GreaterOrEqual(t, result.SightUntil.Sub(died), 120*time.Millisecond, "three intervals, less one look")
}

func TestObserveReportsShuttingDown(t *testing.T) {
	t.Parallel()
	s := newServer()
	now := time.Now()
	s.beat("a", now, enums.WORKER_STATUS_SHUTTING_DOWN)
	result, err := observe(t, s, contract.ObserveWorkersInput{
		Config: fast(), SightUntil: now, SightSince: now,
		Known: []contract.WorkerPulse{{Incarnation: contract.Incarnation{ID: "a", Instance: "1"}, LastChange: now, Fresh: true, Seen: true}},
	})
	require.NoError(t, err)
	require.Len(t, result.Changes, 1)
	assert.True(t, result.Changes[0].ShuttingDown)
}

func TestObserveWakesAtAThresholdAfterItHasSettled(t *testing.T) {
	t.Parallel()
	began := time.Now()
	result, err := observe(t, newServer(), contract.ObserveWorkersInput{
		Config: fast(), WakeAt: began.Add(100 * time.Millisecond),
		Known: []contract.WorkerPulse{{Incarnation: contract.Incarnation{ID: "a", Instance: "1"}, LastChange: began.Add(-time.Minute), Seen: true}},
	})
	require.NoError(t, err)
	assert.Empty(t, result.Changes)
	assert.GreaterOrEqual(t, result.SightUntil.Sub(result.SightSince), 300*time.Millisecond, "six intervals")
}

func TestObserveGoesOnFromTheLastAttempt(t *testing.T) {
	t.Parallel()
	now := time.Now()
	known := contract.WorkerPulse{Incarnation: contract.Incarnation{ID: "a", Instance: "1"}, LastChange: now.Add(-time.Hour), Fresh: true, Seen: true}
	later := known
	later.LastChange = now.Add(-time.Second)
	later.Fresh = false
	result, err := observe(t, newServer(), contract.ObserveWorkersInput{Config: fast(), Known: []contract.WorkerPulse{known}},
		memory{Since: now.Add(-time.Minute), Until: now, Pulses: []contract.WorkerPulse{later}})
	require.NoError(t, err)
	require.Len(t, result.Changes, 1)
	assert.False(t, result.Changes[0].Fresh, "the attempt before saw it go silent but could not say so")
	assert.WithinDuration(t, later.LastChange, result.Changes[0].LastChange, time.Millisecond)
	assert.WithinDuration(t, now.Add(-time.Minute), result.SightSince, time.Millisecond)
}

func TestObserveOutlivesFaultsOfTheServer(t *testing.T) {
	t.Parallel()
	s := newServer()
	s.faults = []error{serviceerror.NewUnavailable("restarting"), errors.New("broken pipe"), context.DeadlineExceeded}
	s.beat("a", time.Now(), enums.WORKER_STATUS_RUNNING)
	s.beat("b", time.Now().Add(time.Hour), enums.WORKER_STATUS_RUNNING)
	result, err := observe(t, s, contract.ObserveWorkersInput{Config: &contract.FleetConfig{HeartbeatInterval: jobtype.Duration(200 * time.Millisecond)}})
	require.NoError(t, err)
	assert.NotEmpty(t, result.Changes)
}

func TestObserveNamesTheMissingSetting(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*server{
		"capability": {unsupported: true},
		"method":     {faults: []error{serviceerror.NewUnimplemented("unknown method ListWorkers")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := observe(t, s, contract.ObserveWorkersInput{Config: fast()})
			var fault *temporal.ApplicationError
			require.ErrorAs(t, err, &fault)
			assert.Equal(t, contract.HeartbeatsUnsupportedError, fault.Type())
			assert.True(t, fault.NonRetryable())
			assert.ErrorContains(t, err, "frontend.WorkerHeartbeatsEnabled")
		})
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	ask := func(t *testing.T, s *server) contract.ProbeWorkerResult {
		t.Helper()
		var suite sdktest.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		Register(env, NewObserver(s, "default", Fixed(*fast())))
		value, err := env.ExecuteActivity(contract.ProbeWorkerActivity, contract.ProbeWorkerInput{ID: "a", Instance: "1"})
		require.NoError(t, err)
		var result contract.ProbeWorkerResult
		require.NoError(t, value.Get(&result))
		return result
	}
	probe := func(t *testing.T, s *server) bool {
		t.Helper()
		return ask(t, s).Alive
	}
	t.Run("not listed", func(t *testing.T) {
		t.Parallel()
		assert.False(t, probe(t, newServer()))
	})
	t.Run("silent", func(t *testing.T) {
		t.Parallel()
		s := newServer()
		s.beat("a", time.Now(), enums.WORKER_STATUS_RUNNING)
		assert.False(t, probe(t, s), "its last beat is young but nothing changes")
	})
	t.Run("beats", func(t *testing.T) {
		t.Parallel()
		s := newServer()
		s.beat("a", time.Now().Add(-time.Hour), enums.WORKER_STATUS_RUNNING)
		second := time.Now().Add(-30 * time.Minute)
		// It beats after its queues were read.
		s.described = func(n int) {
			if n == 2 {
				s.beat("a", second, enums.WORKER_STATUS_RUNNING)
			}
		}
		answer := ask(t, s)
		assert.True(t, answer.Alive, "whatever its clock says")
		assert.Equal(t, 3, answer.Used, "slots of the execute queue")
		assert.True(t, second.Equal(answer.BeatAt))
	})
	for name, fault := range map[string]error{
		"was away": serviceerror.NewUnavailable("restarting"), "kept no heartbeats": serviceerror.NewUnimplemented("unknown method ListWorkers"),
	} {
		t.Run("beats after the server "+name, func(t *testing.T) {
			t.Parallel()
			s := newServer()
			s.faults = slices.Repeat([]error{fault}, 60)
			s.beat("a", time.Now(), enums.WORKER_STATUS_RUNNING)
			s.described = func(n int) {
				if n == 2 {
					s.beat("a", time.Now(), enums.WORKER_STATUS_RUNNING)
				}
			}
			assert.True(t, probe(t, s), "its silence counts from the first read")
		})
	}
}
