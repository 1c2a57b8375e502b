package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/roundsman/roundsman/internal/seaweedfs/gateway"
	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/fakecluster"
	"github.com/roundsman/roundsman/testsuite/fakeworker"
)

// moving is a gateway with a worker that moves volume 1 between two servers.
type moving struct {
	cluster        *fakecluster.Cluster
	source, target string
	started        chan struct{}
	canceled       chan struct{}
	finish         chan struct{}
	ended          chan error
}

func startMove(ctx context.Context, t *testing.T, batch bool) *moving {
	t.Helper()
	m := &moving{
		cluster: fakecluster.New(nil), started: make(chan struct{}, 1), canceled: make(chan struct{}, 1),
		finish: make(chan struct{}), ended: make(chan error, 1),
	}
	for _, address := range []string{"127.0.0.1:1", "127.0.0.1:2"} {
		m.cluster.Add(fakecluster.Server{Address: address, Max: 9})
	}
	m.cluster.Put(fakecluster.Volume{ID: 1, Objects: 3, ObjectSize: 100}, "127.0.0.1:1", "127.0.0.1:2")
	served, err := m.cluster.Serve(fakecluster.Options{})
	require.NoError(t, err)
	t.Cleanup(served.Stop)
	known, err := weed.Dial(weed.Spec{Masters: []string{served.Master}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = known.Close() })
	topology, err := known.Topology(t.Context())
	require.NoError(t, err)
	m.source, m.target = topology.Servers[0].Address, topology.Servers[1].Address
	leases := gateway.NewLeases()
	door, all := serve(t, func(o *gateway.Options) { o.Lease = leases })
	t.Cleanup(func() { assert.NoError(t, leases.Close(context.WithoutCancel(t.Context()))) })
	worker, _ := connect(t, door, all, fakeworker.Options{ID: "w", MaxExecute: 4, Detect: m.propose(t, batch), Execute: m.execute})
	block := json.RawMessage(fmt.Sprintf(`{"masters":[%q]}`, served.Master))
	var out *sink
	handler := worker.handler(t, "weed-volume_balance")
	// On a busy machine the master may not answer in time, and a detection is repeated.
	testsuite.WaitFor(t, time.Minute, "the worker has proposed", func() bool {
		out = &sink{}
		return handler.Detect(t.Context(), jobtype.DetectInput{Cluster: block}, out) == nil
	})
	require.Len(t, out.found, 1)
	go func() {
		_, err := handler.Execute(ctx, jobtype.Job{ID: "j", Cluster: block, Params: out.found[0].Params}, &progress{})
		m.ended <- err
	}()
	<-m.started
	return m
}

func (m *moving) propose(t *testing.T, batch bool) func(context.Context, *pb.RunDetectionRequest, fakeworker.Emit) error {
	return func(_ context.Context, _ *pb.RunDetectionRequest, emit fakeworker.Emit) error {
		text := func(s string) *pb.ConfigValue {
			return &pb.ConfigValue{Kind: &pb.ConfigValue_StringValue{StringValue: s}}
		}
		parameters := map[string]*pb.ConfigValue{
			"volume_id":     {Kind: &pb.ConfigValue_Int64Value{Int64Value: 1}},
			"source_server": text(m.source), "target_server": text(m.target),
		}
		if batch {
			payload, err := proto.Marshal(&pb.BalanceTask{Balance: &pb.BalanceMoves{Moves: []*pb.BalanceMove{
				{VolumeId: 1, SourceNode: m.target, TargetNode: m.source}, {VolumeId: 1, SourceNode: m.source, TargetNode: m.target},
			}}})
			assert.NoError(t, err)
			parameters = map[string]*pb.ConfigValue{"task_params_pb": {Kind: &pb.ConfigValue_BytesValue{BytesValue: payload}}}
		}
		return emit(false, &pb.JobProposal{ProposalId: "p", DedupeKey: "volume_balance:1", JobType: "volume_balance", Parameters: parameters})
	}
}

func (m *moving) execute(ctx context.Context, _ *pb.ExecuteJobRequest, _ func(float64, string)) (*pb.JobResult, error) {
	m.started <- struct{}{}
	select {
	case <-ctx.Done():
		m.canceled <- struct{}{}
		return nil, context.Cause(ctx)
	case <-m.finish:
		return &pb.JobResult{}, nil
	}
}

// TestAMoveWhoseSourceIsGoneIsNotCanceled: to undo the move the worker would delete the target,
// which is the last copy.
func TestAMoveWhoseSourceIsGoneIsNotCanceled(t *testing.T) {
	t.Parallel()
	for _, batch := range []bool{false, true} {
		t.Run(fmt.Sprintf("batch %v", batch), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(context.WithoutCancel(t.Context()))
			m := startMove(ctx, t, batch)
			require.NoError(t, m.cluster.Delete("127.0.0.1:1", 1))
			m.cluster.Calls()
			cancel(jobtype.ErrCanceled)
			looks := 0
			testsuite.WaitFor(t, 20*time.Second, "two looks at the source", func() bool {
				for _, call := range m.cluster.Calls() {
					if strings.HasPrefix(call, "127.0.0.1:1 ReadVolumeFileStatus") {
						looks++
					}
				}
				return looks >= 2
			})
			close(m.finish)
			require.NoError(t, <-m.ended, "it has ended by itself, and well")
			require.Empty(t, m.canceled)
		})
	}
}

func TestAMoveThatHasItsSourceIsCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(t.Context()))
	m := startMove(ctx, t, false)
	cancel(jobtype.ErrCanceled)
	<-m.canceled
	require.ErrorIs(t, <-m.ended, jobtype.ErrCanceled)
}
