package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/roundsman/roundsman/internal/seaweedfs/gateway/translate"
	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
)

// Keep-alive of streams, as in SeaweedFS's own servers. Workers ping every 60 s. The loss of a peer is detected within 30 s.
const (
	pingEvery = 10 * time.Second
	// A busy node answers late, and a worker that loses its stream cancels its work.
	pingTimeout = 20 * time.Second
	pingAtLeast = 20 * time.Second
	// stopGrace is the time for the last messages during Stop.
	stopGrace   = 2 * time.Second
	httpTimeout = 5 * time.Second
)

// Gateway serves weed workers. Start it once and stop it once.
type Gateway struct {
	pb.UnimplementedPluginControlServiceServer

	options Options
	packer  *translate.Packer
	grpc    *grpc.Server
	http    *http.Server
	web     net.Listener
	streams net.Listener
	failed  chan error
	serving sync.WaitGroup

	// stopping is closed when the gateway accepts no more workers.
	stopping chan struct{}
	stopOnce sync.Once

	mu       sync.Mutex
	seats    map[string]*seat
	sessions sync.WaitGroup
	count    int
}

type seat struct {
	link *link
	left chan struct{}
}

// New validates the options. The gateway serves nothing yet.
func New(options Options) (*Gateway, error) {
	options = options.WithDefaults()
	if err := options.Validate(); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	packer, err := translate.NewPacker()
	if err != nil {
		return nil, err
	}
	g := &Gateway{options: options, packer: packer, failed: make(chan error, 1), stopping: make(chan struct{}), seats: map[string]*seat{}}
	settings := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingEvery, Timeout: pingTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingAtLeast, PermitWithoutStream: true}),
	}
	secured := insecure.NewCredentials()
	if options.TLS != nil {
		secured = newRefusals(credentials.NewTLS(options.TLS), options.Logger)
	}
	g.grpc = grpc.NewServer(append(settings, grpc.Creds(arrivals{secured}))...)
	pb.RegisterPluginControlServiceServer(g.grpc, g)
	routes := http.NewServeMux()
	routes.HandleFunc("GET /api/plugin/status", g.status)
	g.http = &http.Server{Handler: routes, ReadTimeout: httpTimeout, WriteTimeout: httpTimeout, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 14}
	return g, nil
}

// Start listens on both ports.
func (g *Gateway) Start(ctx context.Context) error {
	address, err := GRPCAddress(g.options.Listen, g.options.GRPCListen)
	if err != nil {
		return err
	}
	var listen net.ListenConfig
	if g.web, err = listen.Listen(ctx, "tcp", g.options.Listen); err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	if g.streams, err = listen.Listen(ctx, "tcp", address); err != nil {
		_ = g.web.Close() // nothing was served
		return fmt.Errorf("gateway: %w", err)
	}
	g.serving.Go(func() { g.serve("HTTP", g.http.Serve(g.web)) })
	g.serving.Go(func() { g.serve("gRPC", g.grpc.Serve(g.streams)) })
	g.options.Logger.Info("the gateway serves weed workers", "admin", g.Address(), "grpc", g.GRPCAddress())
	return nil
}

func (g *Gateway) serve(what string, err error) {
	if err == nil || errors.Is(err, http.ErrServerClosed) || errors.Is(err, grpc.ErrServerStopped) {
		return
	}
	select {
	case g.failed <- fmt.Errorf("gateway: %s: %w", what, err):
	default: // The first reason is reported.
	}
}

// Failed receives the reason why the gateway can serve no longer.
func (g *Gateway) Failed() <-chan error { return g.failed }

// Wait returns nil when ctx ends, and an error when the gateway can serve no longer.
func (g *Gateway) Wait(ctx context.Context) error {
	select {
	case err := <-g.failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

// Address is the HTTP address for the workers' -admin flag.
func (g *Gateway) Address() string { return g.web.Addr().String() }

// GRPCAddress is the address of the streams.
func (g *Gateway) GRPCAddress() string { return g.streams.Addr().String() }

// Workers counts the streams.
func (g *Gateway) Workers() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.count
}

// Stop accepts no more workers, lets running work end for the drain time, and closes all streams.
func (g *Gateway) Stop(ctx context.Context) error {
	g.stopOnce.Do(func() { close(g.stopping) })
	if g.web == nil || g.streams == nil {
		return nil
	}
	done := make(chan struct{})
	go func() { g.sessions.Wait(); close(done) }()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	ended := time.AfterFunc(stopGrace, g.grpc.Stop)
	g.grpc.GracefulStop()
	ended.Stop()
	web, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	err = errors.Join(err, g.http.Shutdown(web))
	g.serving.Wait()
	return err
}

func (g *Gateway) status(w http.ResponseWriter, _ *http.Request) {
	port := 0
	if address, ok := g.streams.Addr().(*net.TCPAddr); ok {
		port = address.Port
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"enabled":true,"worker_grpc_port":%d,"workers":%d}`+"\n", port, g.Workers()) // the client is gone
}
