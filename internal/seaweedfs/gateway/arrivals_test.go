package gateway

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/roundsman/roundsman/internal/seaweedfs/gateway/session"
	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
)

// everyone is a fleet, and each of its members.
type everyone struct{}

func (e everyone) Join(context.Context, Worker) (Member, error) { return e, nil }
func (everyone) Failed() <-chan error                           { return nil }
func (everyone) Resize(int, int) error                          { return nil }
func (everyone) Leave(context.Context) error                    { return nil }

// slow hands out a part every five seconds while it is on.
type slow struct {
	net.Conn
	on atomic.Bool
}

func (s *slow) Read(into []byte) (int, error) {
	if s.on.Load() {
		time.Sleep(5 * time.Second)
		into = into[:min(len(into), part)]
	}
	return s.Conn.Read(into)
}

type workerStream = grpc.BidiStreamingClient[pb.WorkerToAdminMessage, pb.AdminToWorkerMessage]

// joined runs test with the stream of a worker that has joined, and simulated time.
func joined(t *testing.T, test func(t *testing.T, worker workerStream, link *slow)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g, err := New(Options{Listen: "127.0.0.1:0", Fleet: everyone{}})
		require.NoError(t, err)
		near, far := net.Pipe()
		link, listener := &slow{Conn: near}, make(one, 1)
		listener <- link
		go func() { _ = g.grpc.Serve(listener) }() // until Stop
		defer g.grpc.Stop()
		connection, err := grpc.NewClient("passthrough:///gateway", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return far, nil }))
		require.NoError(t, err)
		defer connection.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		worker, err := pb.NewPluginControlServiceClient(connection).WorkerStream(ctx)
		require.NoError(t, err)
		require.NoError(t, worker.Send(helloOf("w")))
		accepted, err := worker.Recv()
		require.NoError(t, err)
		require.True(t, accepted.GetHello().GetAccepted())
		_, err = worker.Recv() // the request for its form, which it does not send
		require.NoError(t, err)
		test(t, worker, link)
	})
}

func helloOf(id string) *pb.WorkerToAdminMessage {
	return &pb.WorkerToAdminMessage{Body: &pb.WorkerToAdminMessage_Hello{Hello: &pb.WorkerHello{
		WorkerId: id, Capabilities: []*pb.JobTypeCapability{{JobType: "vacuum", CanDetect: true, CanExecute: true}},
	}}}
}

// TestAMessageOnASlowLink: its heartbeats wait behind the message for longer than a worker may be silent.
func TestAMessageOnASlowLink(t *testing.T) {
	t.Parallel()
	joined(t, func(t *testing.T, worker workerStream, link *slow) {
		link.on.Store(true)
		begun := time.Now()
		large := &pb.WorkerToAdminMessage{Body: &pb.WorkerToAdminMessage_Acknowledge{Acknowledge: &pb.WorkerAcknowledge{
			RequestId: "cancel-0", Message: strings.Repeat("x", 64*part),
		}}}
		require.NoError(t, worker.Send(large))
		require.NoError(t, worker.Send(helloOf("w")))
		again, err := worker.Recv()
		require.NoError(t, err, "the stream is open")
		assert.True(t, again.GetHello().GetAccepted(), "the message after the large one is answered")
		assert.Greater(t, time.Since(begun), session.Defaults().SilentAfter)
	})
}

// TestAWorkerThatOnlyAnswersPingsIsSilent: a process may hang while its connection lives.
func TestAWorkerThatOnlyAnswersPingsIsSilent(t *testing.T) {
	t.Parallel()
	joined(t, func(t *testing.T, worker workerStream, _ *slow) {
		begun := time.Now()
		_, err := worker.Recv()
		require.ErrorContains(t, err, string(session.CodeSilent))
		assert.Equal(t, session.Defaults().SilentAfter, time.Since(begun))
	})
}
