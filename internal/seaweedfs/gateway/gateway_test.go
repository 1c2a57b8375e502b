package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/roundsman/roundsman/internal/seaweedfs/gateway"
	"github.com/roundsman/roundsman/internal/seaweedfs/gateway/session"
	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/fakeworker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type fleet struct {
	mu      sync.Mutex
	members map[string]*member
	refuse  error
	// leaving, if not nil, keeps members from leaving until it is closed.
	leaving chan struct{}
	// during, if not nil, is called while a worker joins.
	during func(*member)
}

type member struct {
	fleet  *fleet
	worker gateway.Worker
	failed chan error
	sizes  chan [2]int
}

func (f *fleet) Join(_ context.Context, worker gateway.Worker) (gateway.Member, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse != nil {
		return nil, f.refuse
	}
	m := &member{fleet: f, worker: worker, failed: make(chan error, 1), sizes: make(chan [2]int, 10)}
	f.members[worker.ID] = m
	if f.during != nil {
		f.during(m)
	}
	return m, nil
}

func (m *member) Failed() <-chan error { return m.failed }
func (m *member) Resize(detect, execute int) error {
	m.sizes <- [2]int{detect, execute}
	return nil
}

func (m *member) Leave(context.Context) error {
	if m.fleet.leaving != nil {
		<-m.fleet.leaving
	}
	m.fleet.mu.Lock()
	defer m.fleet.mu.Unlock()
	delete(m.fleet.members, m.worker.ID)
	return nil
}

func (f *fleet) get(id string) *member {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.members[id]
}

func (f *fleet) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.members)
}

func (m *member) handler(t *testing.T, name string) jobtype.Handler {
	t.Helper()
	for _, h := range m.worker.Handlers {
		if h.Descriptor().Name == name {
			return h
		}
	}
	t.Fatalf("no handler %s", name)
	return nil
}

func serve(t *testing.T, edit func(*gateway.Options)) (*gateway.Gateway, *fleet) {
	t.Helper()
	all := &fleet{members: map[string]*member{}}
	options := gateway.Options{Listen: "127.0.0.1:0", Fleet: all, Session: session.Defaults()}
	if edit != nil {
		edit(&options)
	}
	door, err := gateway.New(options)
	require.NoError(t, err)
	require.NoError(t, door.Start(t.Context()))
	t.Cleanup(func() { assert.NoError(t, door.Stop(context.WithoutCancel(t.Context()))) })
	return door, all
}

// connect runs a fake worker until its result is called.
func connect(t *testing.T, door *gateway.Gateway, all *fleet, options fakeworker.Options) (*member, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	options.Admin = door.Address()
	ended := make(chan struct{})
	go func() { defer close(ended); _ = fakeworker.Run(ctx, options) }()
	stop := func() { cancel(); <-ended }
	t.Cleanup(stop)
	testsuite.WaitFor(t, 10*time.Second, "the worker to join", func() bool { return all.get(gateway.WorkerID(options.ID)) != nil })
	return all.get(gateway.WorkerID(options.ID)), stop
}

// dial retries like a real worker: a busy gateway may answer with its other port too late.
func dial(t *testing.T, door *gateway.Gateway) (stream fakeworker.Stream) {
	t.Helper()
	testsuite.WaitFor(t, time.Minute, "a stream", func() bool {
		opened, connection, err := fakeworker.Dial(t.Context(), door.Address())
		if err != nil {
			return false
		}
		stream = opened
		t.Cleanup(func() { _ = connection.Close() })
		return true
	})
	return stream
}

type sink struct {
	found     []jobtype.Proposal
	explained []string
}

func (s *sink) Explain(text string) { s.explained = append(s.explained, strings.TrimSpace(text)) }

func (s *sink) Emit(_ context.Context, proposals ...jobtype.Proposal) error {
	for _, p := range proposals {
		if err := p.Validate(); err != nil {
			return err
		}
		s.found = append(s.found, p)
	}
	return nil
}

type progress struct {
	mu      sync.Mutex
	stages  []string
	printed bytes.Buffer
}

func (p *progress) Log() io.Writer { return &p.printed }

func (p *progress) Report(_ float64, stage, _ string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stages = append(p.stages, stage)
}
func (p *progress) Alive()               {}
func (p *progress) Checkpoint(any) error { return nil }

var cluster = json.RawMessage(`{"masters":["localhost:9333"]}`)

func TestAWorkerDetectsAndExecutes(t *testing.T) {
	t.Parallel()
	door, all := serve(t, nil)
	requests := make(chan *pb.ExecuteJobRequest, 1)
	last := time.Now().Add(-time.Hour).Truncate(time.Second)
	m, _ := connect(t, door, all, fakeworker.Options{
		ID: "Weed@1:8080", MaxExecute: 3,
		Detect: func(_ context.Context, in *pb.RunDetectionRequest, emit fakeworker.Emit) error {
			assert.InDelta(t, 0.5, in.GetWorkerConfigValues()["garbage_threshold"].GetDoubleValue(), 0)
			assert.Equal(t, "ALL", in.GetAdminConfigValues()["volume_state"].GetStringValue())
			assert.Equal(t, []string{"localhost:9333"}, in.GetClusterContext().GetMasterGrpcAddresses())
			assert.EqualValues(t, 10, in.GetMaxResults())
			assert.Equal(t, last.Add(-5*time.Second).UTC(), in.GetLastSuccessfulRun().AsTime(), "the last run with jobs, and a tolerance")
			assert.InDelta(t, time.Now().UnixNano(), in.GetDetectionSequence(), float64(time.Minute))
			return errors.Join(emit(true, fakeworker.Vacuum(1)), emit(false, fakeworker.Vacuum(2)))
		},
		Execute: func(_ context.Context, in *pb.ExecuteJobRequest, report func(float64, string)) (*pb.JobResult, error) {
			report(50, "compact")
			requests <- in
			return &pb.JobResult{Summary: "vacuumed", OutputValues: map[string]*pb.ConfigValue{"bytes": fakeworker.Value(7)}}, nil
		},
	})
	require.Len(t, m.worker.Handlers, 7)
	assert.Equal(t, 3, m.worker.MaxExecute)
	vacuum := m.handler(t, "weed-vacuum")
	out := &sink{}
	require.NoError(t, vacuum.Detect(t.Context(), jobtype.DetectInput{Cluster: cluster, MaxResults: 10, LastSuccess: time.Now(), LastWithJobs: last, Params: json.RawMessage(`{"worker":{"garbage_threshold":0.5}}`)}, out))
	require.Len(t, out.found, 2)
	assert.Equal(t, "vacuum:2", out.found[1].DedupeKey)
	assert.Equal(t, 5*time.Minute, out.found[1].EstimatedRuntime.Std())
	assert.Empty(t, out.found[1].Labels, "a worker's labels do not place a job")

	reported := &progress{}
	limited, end := context.WithTimeout(t.Context(), 200*time.Second)
	defer end()
	result, err := vacuum.Execute(limited, jobtype.Job{ID: "job-00001", GroupID: "group/vacuum-2026", Attempt: 2, Cluster: cluster, Params: out.found[1].Params}, reported)
	require.NoError(t, err)
	assert.Equal(t, "vacuumed", result.Summary)
	assert.EqualValues(t, 7, result.Data["bytes"])
	assert.Contains(t, reported.stages, "compact")
	assert.Contains(t, reported.printed.String(), "compact: 50 percent of vacuum:2\n", "its activities are what it prints")
	assert.True(t, strings.HasSuffix(reported.printed.String(), "\ncompleted: the job has ended\n"), reported.printed.String())
	sent := <-requests
	assert.EqualValues(t, 2, sent.GetAttempt())
	assert.InDelta(t, 200, sent.GetAdminRuntime().GetExecutionTimeoutSeconds(), 60, "the time that is left, not the form's 1800 s")
	assert.EqualValues(t, 4, sent.GetAdminRuntime().GetPerWorkerExecutionConcurrency())
	assert.Equal(t, fakeworker.Vacuum(2).GetParameters()["task_params_pb"].GetBytesValue(), sent.GetJob().GetParameters()["task_params_pb"].GetBytesValue())
	assert.Equal(t, "none-of-ours", sent.GetJob().GetLabels()["rack"])
	assert.Equal(t, "vacuum-vacuum-2026-job-00001", sent.GetJob().GetJobId())
}

// TestADetectionExplainsWhatItFound: the worker sends explanations as progress of the detection.
func TestADetectionExplainsWhatItFound(t *testing.T) {
	t.Parallel()
	door, all := serve(t, nil)
	m, _ := connect(t, door, all, fakeworker.Options{ID: "w"})
	out := &sink{}
	require.NoError(t, m.handler(t, "weed-vacuum").Detect(t.Context(), jobtype.DetectInput{}, out))
	assert.Empty(t, out.found)
	assert.Equal(t, []string{"decision_summary: No tasks created for 8 volumes"}, out.explained)
}

func proposalOf(t *testing.T, m *member) json.RawMessage {
	t.Helper()
	out := &sink{}
	require.NoError(t, m.handler(t, "weed-vacuum").Detect(t.Context(), jobtype.DetectInput{}, out))
	require.NotEmpty(t, out.found)
	return out.found[0].Params
}

// TestAWorkerIsCalledWhileItJoins: a new worker gets work before its fleet has answered.
func TestAWorkerIsCalledWhileItJoins(t *testing.T) {
	t.Parallel()
	door, all := serve(t, nil)
	detected := make(chan error, 1)
	all.during = func(m *member) {
		detected <- m.handler(t, "weed-vacuum").Detect(t.Context(), jobtype.DetectInput{Cluster: cluster}, &sink{})
	}
	connect(t, door, all, fakeworker.Options{ID: "w", Detect: oneVolume})
	require.NoError(t, <-detected)
}

func oneVolume(_ context.Context, _ *pb.RunDetectionRequest, emit fakeworker.Emit) error {
	return emit(false, fakeworker.Vacuum(1))
}

func hang(started chan<- struct{}) func(context.Context, *pb.ExecuteJobRequest, func(float64, string)) (*pb.JobResult, error) {
	return func(ctx context.Context, _ *pb.ExecuteJobRequest, _ func(float64, string)) (*pb.JobResult, error) {
		started <- struct{}{}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
}

func TestADroppedStreamLosesItsJobsAtOnce(t *testing.T) {
	t.Parallel()
	door, all := serve(t, nil)
	started := make(chan struct{}, 1)
	m, stop := connect(t, door, all, fakeworker.Options{ID: "w", Detect: oneVolume, Execute: hang(started)})
	params, failed := proposalOf(t, m), make(chan error, 1)
	go func() {
		_, err := m.handler(t, "weed-vacuum").Execute(context.WithoutCancel(t.Context()), jobtype.Job{ID: "job-00001", Params: params}, &progress{})
		failed <- err
	}()
	<-started
	stop()
	require.ErrorIs(t, <-failed, jobtype.ErrExecutorLost)
	testsuite.WaitFor(t, 5*time.Second, "the worker to leave", func() bool { return all.count() == 0 })
	_, err := m.handler(t, "weed-vacuum").Execute(t.Context(), jobtype.Job{ID: "job-00002", Params: params}, &progress{})
	require.ErrorIs(t, err, jobtype.ErrAtCapacity, "what comes after the loss never ran")
}

// TestAStreamEndsBeforeItsWorkerHasLeft: its jobs are placed again at once, and the worker stops them with its stream.
func TestAStreamEndsBeforeItsWorkerHasLeft(t *testing.T) {
	t.Parallel()
	door, all := serve(t, func(o *gateway.Options) { o.Session.SchemaWait = 100 * time.Millisecond })
	all.leaving = make(chan struct{})
	defer close(all.leaving)
	stream := dial(t, door)
	require.NoError(t, stream.Send(fakeworker.Hello(fakeworker.Options{ID: "w", JobTypes: []string{"vacuum"}, MaxDetect: 1, MaxExecute: 1})))
	testsuite.WaitFor(t, time.Minute, "the worker to join", func() bool { return all.get("w") != nil })
	all.get("w").failed <- errors.New("fenced")
	ended := make(chan error, 1)
	go func() {
		var err error
		for err == nil { // A real worker ignores a refusal.
			_, err = stream.Recv()
		}
		ended <- err
	}()
	testsuite.WaitFor(t, time.Minute, "the end of the stream", func() bool { return len(ended) == 1 })
	require.ErrorContains(t, <-ended, "fenced")
}

func TestCancelReachesTheWorker(t *testing.T) {
	t.Parallel()
	door, all := serve(t, nil)
	started := make(chan struct{}, 1)
	m, _ := connect(t, door, all, fakeworker.Options{ID: "w", Detect: oneVolume, Execute: hang(started)})
	ctx, cancel := context.WithCancelCause(t.Context())
	failed := make(chan error, 1)
	params := proposalOf(t, m)
	go func() {
		_, err := m.handler(t, "weed-vacuum").Execute(ctx, jobtype.Job{ID: "job-00001", Params: params}, &progress{})
		failed <- err
	}()
	<-started
	cancel(jobtype.ErrCanceled)
	require.ErrorIs(t, <-failed, jobtype.ErrCanceled)
}

func TestAFullWorkerIsNoAttempt(t *testing.T) {
	t.Parallel()
	door, all := serve(t, nil)
	started := make(chan struct{}, 1)
	m, stop := connect(t, door, all, fakeworker.Options{ID: "w", MaxExecute: 1, Detect: oneVolume, Execute: hang(started)})
	params, first := proposalOf(t, m), make(chan error, 1)
	go func() {
		_, err := m.handler(t, "weed-vacuum").Execute(context.WithoutCancel(t.Context()), jobtype.Job{ID: "job-00001", Params: params}, &progress{})
		first <- err
	}()
	<-started
	_, err := m.handler(t, "weed-vacuum").Execute(t.Context(), jobtype.Job{ID: "job-00002", Params: params}, &progress{})
	require.ErrorIs(t, err, jobtype.ErrAtCapacity)
	stop()
	require.Error(t, <-first)
}

// TestASlotThatIsAboutToBeFree: a worker reports the end of a job before it frees the slot, and
// the next job arrives in between.
func TestASlotThatIsAboutToBeFree(t *testing.T) {
	t.Parallel()
	door, all := serve(t, nil)
	m, _ := connect(t, door, all, fakeworker.Options{ID: "w", MaxExecute: 1, FreeAfter: 100 * time.Millisecond, Detect: oneVolume})
	params := proposalOf(t, m)
	for i := range 5 {
		_, err := m.handler(t, "weed-vacuum").Execute(t.Context(), jobtype.Job{ID: fmt.Sprintf("job-%d", i), Params: params}, &progress{})
		require.NoError(t, err)
	}
}

// TestACancelThatCameTooEarlyIsRepeated: a worker rejects the cancel of work that has not quite
// begun as unknown.
func TestACancelThatCameTooEarlyIsRepeated(t *testing.T) {
	t.Parallel()
	door, all := serve(t, nil)
	started, stopped := make(chan struct{}, 1), make(chan struct{}, 1)
	m, _ := connect(t, door, all, fakeworker.Options{ID: "w", Deny: 1, Detect: oneVolume, Execute: func(ctx context.Context, _ *pb.ExecuteJobRequest, _ func(float64, string)) (*pb.JobResult, error) {
		started <- struct{}{}
		<-ctx.Done()
		stopped <- struct{}{}
		return nil, context.Cause(ctx)
	}})
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	params := proposalOf(t, m)
	go func() {
		_, err := m.handler(t, "weed-vacuum").Execute(ctx, jobtype.Job{ID: "job-00001", Params: params}, &progress{})
		ended <- err
	}()
	<-started
	cancel(jobtype.ErrCanceled)
	require.ErrorIs(t, <-ended, jobtype.ErrCanceled)
	require.Len(t, stopped, 1, "the slot is given up only when the worker has stopped")
}

func TestTheSecondWorkerOfAnIDIsRefused(t *testing.T) {
	t.Parallel()
	door, all := serve(t, nil)
	connect(t, door, all, fakeworker.Options{ID: "twin"})
	err := fakeworker.Once(t.Context(), fakeworker.Options{Admin: door.Address(), ID: "twin", JobTypes: []string{"vacuum"}, MaxDetect: 1, MaxExecute: 1, Heartbeat: time.Second, Schema: fakeworker.Descriptor})
	require.ErrorIs(t, err, fakeworker.ErrRefused)
	assert.Equal(t, 1, all.count(), "the first one stays")
}

func TestAWorkerThatTheFleetRefusesIsToldWhy(t *testing.T) {
	t.Parallel()
	door, all := serve(t, nil)
	all.refuse = &gateway.RefusedError{Err: errors.New("held by host h")}
	err := fakeworker.Once(t.Context(), fakeworker.Options{Admin: door.Address(), ID: "w", JobTypes: []string{"vacuum"}, MaxDetect: 1, MaxExecute: 1, Heartbeat: time.Second, Schema: fakeworker.Descriptor})
	require.ErrorContains(t, err, "held by host h")
}

// absent is a fleet without a control plane.
type absent struct{ joining, over chan struct{} }

func (a absent) Join(ctx context.Context, _ gateway.Worker) (gateway.Member, error) {
	a.joining <- struct{}{}
	select {
	case <-ctx.Done():
	case <-a.over:
	}
	return nil, errors.New("no control plane")
}

func TestAGatewayStopsWhileAWorkerJoins(t *testing.T) {
	t.Parallel()
	all := absent{make(chan struct{}, 1), make(chan struct{})}
	defer close(all.over)
	door, _ := serve(t, func(o *gateway.Options) {
		o.Fleet, o.Session.SchemaWait, o.Session.SilentAfter = all, 100*time.Millisecond, time.Hour // Silence ends a session, too.
	})
	stream := dial(t, door)
	require.NoError(t, stream.Send(fakeworker.Hello(fakeworker.Options{ID: "w", JobTypes: []string{"vacuum"}})))
	<-all.joining
	stopped := make(chan error, 1)
	go func() { stopped <- door.Stop(context.WithoutCancel(t.Context())) }()
	testsuite.WaitFor(t, time.Minute, "the stop", func() bool { return len(stopped) == 1 })
	require.NoError(t, <-stopped)
}

// untouched is a lease that must not be requested.
type untouched struct{ t *testing.T }

func (u untouched) Gone(context.Context, json.RawMessage, *pb.BalanceMove) bool { return false }

func (u untouched) Hold(ctx context.Context, _ json.RawMessage, _ func(weed.Blocked) error) (held context.Context, release func(), err error) {
	u.t.Error("the lease was asked for")
	return ctx, func() {}, nil
}

func TestMalformedAddressesReachNeitherWorkerNorLease(t *testing.T) {
	t.Parallel()
	door, all := serve(t, func(o *gateway.Options) { o.Lease = untouched{t} })
	m, _ := connect(t, door, all, fakeworker.Options{ID: "w", Detect: func(context.Context, *pb.RunDetectionRequest, fakeworker.Emit) error {
		t.Error("the worker was asked")
		return nil
	}})
	for _, bad := range []string{`{"masters":["m1:9333:x"]}`, `{"masters":["m1:9333"],"filers":["f1"]}`, `{"masters":["m1:9333"],"s3":["s3:8333.x"]}`} {
		err := m.handler(t, "weed-vacuum").Detect(t.Context(), jobtype.DetectInput{Cluster: json.RawMessage(bad)}, &sink{})
		require.ErrorContains(t, err, "cluster.")
		assert.True(t, jobtype.IsPermanent(err))
		_, err = m.handler(t, "weed-vacuum").Execute(t.Context(), jobtype.Job{ID: "j", Cluster: json.RawMessage(bad)}, &progress{})
		require.ErrorContains(t, err, "cluster.")
	}
}

func TestAMessageOf64MiBIsTaken(t *testing.T) {
	t.Parallel()
	door, all := serve(t, nil)
	m, _ := connect(t, door, all, fakeworker.Options{ID: "w", Detect: func(_ context.Context, _ *pb.RunDetectionRequest, emit fakeworker.Emit) error {
		page := make([]*pb.JobProposal, 64)
		for i := range page {
			page[i] = fakeworker.Vacuum(i)
			page[i].Parameters["big"] = fakeworker.Value(bytes.Repeat([]byte{byte(i)}, 1<<20-4096))
		}
		return emit(false, page...)
	}})
	out := &sink{}
	require.NoError(t, m.handler(t, "weed-vacuum").Detect(t.Context(), jobtype.DetectInput{}, out))
	require.Len(t, out.found, 64)
	for _, p := range out.found {
		require.LessOrEqual(t, len(p.Params), jobtype.MaxProposalBytes, "what enters Temporal is bounded")
	}
}

// TestDroppedPagesTakeNoRoom: a worker sends a page of a canceled detection, and another detection has room.
func TestDroppedPagesTakeNoRoom(t *testing.T) {
	t.Parallel()
	door, all := serve(t, func(o *gateway.Options) { o.Session.Limits.Unconsumed = 1 << 20 })
	started, sent, finish := make(chan struct{}), make(chan struct{}), make(chan struct{})
	defer close(finish)
	m, _ := connect(t, door, all, fakeworker.Options{ID: "w", MaxDetect: 2, Detect: func(ctx context.Context, in *pb.RunDetectionRequest, emit fakeworker.Emit) error {
		large := fakeworker.Proposal(in.GetJobType(), 1, time.Now())
		large.Parameters["big"] = fakeworker.Value(make([]byte, 600<<10))
		if in.GetJobType() != "vacuum" {
			return emit(false, large)
		}
		close(started)
		<-ctx.Done()
		err := emit(true, large)
		close(sent)
		<-finish
		return err
	}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _ = m.handler(t, "weed-vacuum").Detect(ctx, jobtype.DetectInput{}, &sink{}) }()
	<-started
	cancel()
	<-sent
	testsuite.WaitFor(t, time.Minute, "the other detection to have room", func() bool {
		return m.handler(t, "weed-ec_balance").Detect(t.Context(), jobtype.DetectInput{}, &sink{}) == nil
	})
}

// TestWrongWorkersHarmNobody: garbage, wrong ids, floods, silence and half-closed streams.
func TestWrongWorkersHarmNobody(t *testing.T) {
	t.Parallel()
	door, all := serve(t, func(o *gateway.Options) { o.Session.HelloWait = 300 * time.Millisecond })
	good, _ := connect(t, door, all, fakeworker.Options{ID: "good", Detect: oneVolume})
	ack := &pb.WorkerToAdminMessage{Body: &pb.WorkerToAdminMessage_Acknowledge{Acknowledge: &pb.WorkerAcknowledge{RequestId: "nonsense"}}}
	for name, speak := range map[string]func(s fakeworker.Stream) error{
		"no hello":    func(s fakeworker.Stream) error { return s.Send(ack) },
		"silence":     func(fakeworker.Stream) error { return nil },
		"half closed": func(s fakeworker.Stream) error { return s.CloseSend() },
		"nameless":    func(s fakeworker.Stream) error { return s.Send(fakeworker.Hello(fakeworker.Options{})) },
		"garbage": func(s fakeworker.Stream) error {
			garbage := &pb.WorkerToAdminMessage{}
			garbage.ProtoReflect().SetUnknown([]byte{0x52, 0xff, 0xff, 0xff, 0x0f}) // a hello of 32 MiB that is not there
			return s.Send(garbage)
		},
		"flood": func(s fakeworker.Stream) error {
			err := s.Send(fakeworker.Hello(fakeworker.Options{ID: "flood", JobTypes: []string{"vacuum"}}))
			for i := 0; i < 10_000 && s.Send(ack) == nil; i++ {
				continue // until it is disconnected
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			stream := dial(t, door)
			require.NoError(t, speak(stream))
			var err error
			for err == nil {
				_, err = stream.Recv()
			}
			if name != "half closed" {
				require.NotErrorIs(t, err, io.EOF, "the worker is told why")
			}
		})
	}
	testsuite.WaitFor(t, 5*time.Second, "the wrong ones to be gone", func() bool { return door.Workers() == 1 })
	require.NotEmpty(t, proposalOf(t, good))
}

func TestSlotsOfTheHeartbeatAreFollowed(t *testing.T) {
	t.Parallel()
	door, all := serve(t, func(o *gateway.Options) { o.Session.SchemaWait = 100 * time.Millisecond })
	stream := dial(t, door)
	require.NoError(t, stream.Send(fakeworker.Hello(fakeworker.Options{ID: "w", JobTypes: []string{"vacuum"}, MaxDetect: 1, MaxExecute: 4})))
	testsuite.WaitFor(t, 5*time.Second, "the worker to join", func() bool { return all.get("w") != nil })
	beat := &pb.WorkerToAdminMessage{Body: &pb.WorkerToAdminMessage_Heartbeat{Heartbeat: &pb.WorkerHeartbeat{DetectionSlotsTotal: 2, ExecutionSlotsTotal: 8}}}
	testsuite.WaitFor(t, 5*time.Second, "the new size", func() bool {
		require.NoError(t, stream.Send(beat)) // a beat before the join changes nothing
		select {
		case size := <-all.get("w").sizes:
			return assert.Equal(t, [2]int{2, 8}, size)
		default:
			return false
		}
	})
}

func TestTwoHundredWorkers(t *testing.T) {
	t.Parallel()
	door, all := serve(t, func(o *gateway.Options) { o.MaxWorkers = 201 })
	for i := range 200 {
		go func() { //nolint:gosec // ends with the test
			_ = fakeworker.Run(t.Context(), fakeworker.Options{Admin: door.Address(), ID: fmt.Sprintf("w%d", i), Detect: oneVolume})
		}()
	}
	testsuite.WaitFor(t, 30*time.Second, "200 workers", func() bool { return all.count() == 200 })
	var detecting sync.WaitGroup
	for i := range 200 {
		detecting.Go(func() {
			out := &sink{}
			assert.NoError(t, all.get(fmt.Sprintf("w%d", i)).handler(t, "weed-vacuum").Detect(t.Context(), jobtype.DetectInput{}, out))
			assert.Len(t, out.found, 1)
		})
	}
	detecting.Wait()
}

func TestStatusTellsThePortOfTheStream(t *testing.T) {
	t.Parallel()
	door, _ := serve(t, nil)
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + door.Address() + "/api/plugin/status")
	require.NoError(t, err)
	defer response.Body.Close()
	var status struct {
		Port int `json:"worker_grpc_port"`
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&status))
	assert.Contains(t, door.GRPCAddress(), fmt.Sprint(status.Port))
	address, err := gateway.GRPCAddress("10.0.0.1:23646", "")
	require.NoError(t, err)
	assert.Equal(t, "10.0.0.1:33646", address)
}
