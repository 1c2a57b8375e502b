package realcluster

import (
	"cmp"
	"errors"
	"io"
	"net"
	"path"
	"strconv"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/roundsman/roundsman/internal/seaweedfs/masterpb"
	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
)

// Phase is the moment of a call at which a gate holds it.
type Phase string

// The phases of a call: not sent, sent, answered.
const (
	Before Phase = "before"
	During Phase = "during"
	After  Phase = "after"
)

// Gate stands in front of the master and of every volume server. It passes all calls, and holds one
// until its caller is gone.
type Gate struct {
	// Master is the address that a configuration names.
	Master  string
	cluster *Cluster

	mu      sync.Mutex
	proxies map[string]uint32 // ports by target
	method  string
	phase   Phase
	skip    int
	hit     chan struct{}
	calls   []string
}

// Gate opens a gate for the time of the test.
func (c *Cluster) Gate() *Gate {
	c.T.Helper()
	g := &Gate{cluster: c, proxies: map[string]uint32{}}
	g.Master = g.Pass(c.Master)
	return g
}

// Pass returns the address of the gate in front of one more server.
func (g *Gate) Pass(address string) string {
	g.cluster.T.Helper()
	target, err := weed.ParseAddress(address)
	require.NoError(g.cluster.T, err)
	port, err := g.proxy(target)
	require.NoError(g.cluster.T, err)
	return address + "." + strconv.Itoa(int(port))
}

// Calls returns the methods of the calls since the last use of Calls, in order.
func (g *Gate) Calls() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	calls := g.calls
	g.calls = nil
	return calls
}

// Hold holds the call of method that follows skip others of it. The channel is closed when the call
// is held.
func (g *Gate) Hold(method string, skip int, phase Phase) <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.method, g.skip, g.phase, g.hit = method, skip, phase, make(chan struct{})
	return g.hit
}

// held returns the phase in which this call is to be held, and the function that reports it.
func (g *Gate) held(method string) (Phase, func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls = append(g.calls, method)
	if method != g.method {
		return "", nil
	}
	if g.skip > 0 {
		g.skip--
		return "", nil
	}
	g.method = ""
	hit := g.hit
	return g.phase, func() { close(hit) }
}

// proxy returns the port of the proxy of a server.
func (g *Gate) proxy(target string) (uint32, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if port, ok := g.proxies[target]; ok {
		return port, nil
	}
	conn, err := grpc.NewClient("passthrough:///"+target, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{}), grpc.MaxCallRecvMsgSize(1<<30)))
	if err != nil {
		return 0, err
	}
	listener, err := (&net.ListenConfig{}).Listen(g.cluster.T.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	server := grpc.NewServer(grpc.ForceServerCodec(raw{}), grpc.MaxRecvMsgSize(1<<30), grpc.UnknownServiceHandler(func(_ any, in grpc.ServerStream) error {
		return g.pass(conn, in)
	}))
	go func() { _ = server.Serve(listener) }()
	g.cluster.T.Cleanup(func() { server.Stop(); _ = conn.Close() })
	_, text, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return 0, err
	}
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, err
	}
	port := uint32(number)
	g.proxies[target] = port
	return port, nil
}

// during is the age of a call that is held [During] its work.
const during = 5 * time.Millisecond

var errHeld = status.Error(codes.Unavailable, "the gate held this call")

// pass forwards one call.
func (g *Gate) pass(conn *grpc.ClientConn, in grpc.ServerStream) error {
	full, _ := grpc.MethodFromServerStream(in)
	method := path.Base(full)
	phase, report := g.held(method)
	hold := func() error {
		report()
		<-in.Context().Done()
		return errHeld
	}
	if phase == Before {
		return hold()
	}
	out, err := conn.NewStream(in.Context(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, full)
	if err != nil {
		return err
	}
	go send(in, out)
	if phase == During {
		// The request is sent at once. A moment later the server is at work.
		timer := time.AfterFunc(during, report)
		defer timer.Stop()
	}
	for {
		message := &frame{}
		err := out.RecvMsg(message)
		switch {
		case phase == After && err != nil:
			return hold()
		case phase == During && err != nil:
			<-in.Context().Done()
			return errHeld
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case phase != "": // its caller gets no answer
			continue
		}
		if method == "VolumeList" {
			if message.data, err = g.rename(message.data); err != nil {
				return err
			}
		}
		if err := in.SendMsg(message); err != nil {
			return err
		}
	}
}

// send forwards the caller's messages.
func send(in grpc.ServerStream, out grpc.ClientStream) {
	for {
		message := &frame{}
		if err := in.RecvMsg(message); err != nil {
			if errors.Is(err, io.EOF) {
				_ = out.CloseSend()
			}
			return
		}
		if out.SendMsg(message) != nil {
			return
		}
	}
}

// rename has the proxies' ports in an answer of the master.
func (g *Gate) rename(answer []byte) ([]byte, error) {
	list := &masterpb.VolumeListResponse{}
	if err := proto.Unmarshal(answer, list); err != nil {
		return nil, err
	}
	for _, center := range list.GetTopology().GetDataCenters() {
		for _, rack := range center.GetRacks() {
			for _, node := range rack.GetNodes() {
				address := cmp.Or(node.GetAddress(), node.GetId())
				target, err := weed.ParseAddress(address)
				if err != nil {
					return nil, err
				}
				if node.GrpcPort, err = g.proxy(target); err != nil {
					return nil, err
				}
			}
		}
	}
	return proto.Marshal(list)
}

// frame is a message as its bytes.
type frame struct{ data []byte }

// raw leaves messages as they are.
type raw struct{}

var _ encoding.Codec = raw{}

// Marshal implements [encoding.Codec].
func (raw) Marshal(v any) ([]byte, error) {
	if message, ok := v.(*frame); ok {
		return message.data, nil
	}
	return nil, errors.New("not a frame")
}

// Unmarshal implements [encoding.Codec].
func (raw) Unmarshal(data []byte, v any) error {
	message, ok := v.(*frame)
	if !ok {
		return errors.New("not a frame")
	}
	message.data = append([]byte(nil), data...)
	return nil
}

// Name implements [encoding.Codec].
func (raw) Name() string { return "proto" }
