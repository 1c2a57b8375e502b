package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.uber.org/fx"

	"github.com/roundsman/roundsman/internal/seaweedfs/gateway"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/workers"
)

// WeedGatewayOptions configure the process that serves weed workers.
type WeedGatewayOptions struct {
	Client *starter.Client
	// With DataDir a killed gateway has its workers and undelivered outcomes back at once.
	DataDir string
	// DrainTimeout is how long running jobs continue after a stop; 0 means not at all.
	DrainTimeout time.Duration
	// Gateway has the addresses and the limits. Its fleet is set by [StartWeedGateway].
	Gateway gateway.Options
	Logger  *slog.Logger
}

// WeedGateway is a running gateway.
type WeedGateway struct {
	*Process

	gateway *gateway.Gateway
	leases  *gateway.Leases
}

// Address returns the address for the workers' -admin.
func (g *WeedGateway) Address() string { return g.gateway.Address() }

// GRPCAddress returns the address of the workers' streams.
func (g *WeedGateway) GRPCAddress() string { return g.gateway.GRPCAddress() }

// StartWeedGateway starts a gateway, for `roundsman gateway seaweedfs`.
func StartWeedGateway(ctx context.Context, options WeedGatewayOptions) (*WeedGateway, error) {
	settings := options.Gateway
	leases := gateway.NewLeases()
	settings.Fleet, settings.Lease, settings.Logger = weedFleet{options}, leases, options.Logger
	gateway, err := gateway.New(settings)
	if err != nil {
		return nil, err
	}
	process, err := start(ctx, options.DrainTimeout, options.Logger, fx.Supply(options.Logger, parts{{"gateway", gateway}}))
	if err != nil {
		return nil, err
	}
	return &WeedGateway{Process: process, gateway: gateway, leases: leases}, nil
}

// Stop drains the workers, releases the leases and ends the connections to their clusters.
func (g *WeedGateway) Stop(ctx context.Context) error {
	return errors.Join(g.Process.Stop(ctx), g.leases.Close(ctx))
}

type weedFleet struct{ options WeedGatewayOptions }

// Join implements [gateway.Fleet].
func (f weedFleet) Join(ctx context.Context, joining gateway.Worker) (gateway.Member, error) {
	settings := NodeOptions{
		ID: joining.ID, DataDir: f.options.DataDir, Labels: joining.Labels,
		MaxDetect: joining.MaxDetect, MaxExecute: joining.MaxExecute, DrainTimeout: f.options.DrainTimeout,
	}.settings()
	settings.CancelGrace = gateway.CancelGrace + time.Second
	node, err := newWeedNode(f.options.Client, settings, joining, f.options.Logger)
	if err != nil {
		return nil, refusedJoin(err)
	}
	if err := node.Start(ctx); err != nil {
		// A node that did not start still claims the id.
		_ = node.Stop(context.WithoutCancel(ctx)) // The reason is in err.
		return nil, refusedJoin(err)
	}
	member := &weedMember{Node: node, failed: make(chan error, 1)}
	watching, unwatch := context.WithCancel(context.Background())
	member.unwatch = unwatch
	go func() {
		if err := node.Wait(watching); err != nil {
			member.failed <- refusedJoin(err)
		}
	}()
	return member, nil
}

func newWeedNode(client *starter.Client, settings workers.NodeOptions, joining gateway.Worker, logger *slog.Logger) (*workers.Node, error) {
	settings.Handlers, settings.Version, settings.Logger = joining.Handlers, joining.Version, logger
	settings.Namespace, settings.HeartbeatInterval = client.Namespace(), client.HeartbeatInterval()
	return workers.NewNode(client.Temporal(), settings)
}

func refusedJoin(err error) error {
	_, elsewhere := errors.AsType[*workers.RefusedError](err)
	_, here := errors.AsType[*workers.InUseError](err)
	if elsewhere || here {
		return &gateway.RefusedError{Err: err}
	}
	return err
}

type weedMember struct {
	*workers.Node

	failed  chan error
	unwatch context.CancelFunc
}

// Failed implements [gateway.Member].
func (m *weedMember) Failed() <-chan error { return m.failed }

// Leave implements [gateway.Member].
func (m *weedMember) Leave(ctx context.Context) error {
	m.unwatch()
	return m.Stop(ctx)
}
