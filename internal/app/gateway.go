package app

import (
	"context"
	"log/slog"

	"go.uber.org/fx"

	"github.com/roundsman/roundsman/internal/edge/api/auth"
	"github.com/roundsman/roundsman/internal/edge/gateway"
	"github.com/roundsman/roundsman/internal/edge/gateway/rest"
	"github.com/roundsman/roundsman/internal/edge/telemetry"
	"github.com/roundsman/roundsman/starter"
)

// GatewayOptions configure a process that serves remote workers over HTTP.
type GatewayOptions struct {
	Client *starter.Client
	HTTP   *HTTP
	// Health serves the state of the process if not nil.
	Health *Health
	Logger *slog.Logger
}

// StartGateway starts a gateway, for `roundsman gateway http`.
func StartGateway(ctx context.Context, options GatewayOptions) (*Process, error) {
	options.HTTP.bare = true
	all := append(options.Health.parts(options.Health.gatewayChecks(), options.Logger), options.HTTP.parts(options.Client, options.Logger)...)
	return start(ctx, stopHTTPWithin, options.Logger, fx.Supply(options.Logger, all))
}

func (h *Health) gatewayChecks() telemetry.Checks {
	return telemetry.Checks{Alive: func() error { return nil }, Ready: func() error { return h.answering() }}
}

func newGateway(ctx context.Context, client *starter.Client, logger *slog.Logger) (*gateway.Gateway, error) {
	secret, err := gateway.SharedSecret(ctx, client.Temporal())
	if err != nil {
		return nil, err
	}
	return gateway.New(gateway.Options{
		Client: client.Temporal(), Namespace: client.Namespace(), Converter: starter.DataConverter(), Secret: secret, Logger: logger,
	})
}

func remoteWorker(g *gateway.Gateway) func(token string) (auth.RemoteWorker, error) {
	return func(token string) (auth.RemoteWorker, error) {
		w, err := g.Worker(token)
		if err != nil {
			return auth.RemoteWorker{}, rest.Problem(err)
		}
		return auth.RemoteWorker{ID: w.ID(), Key: w.Key()}, nil
	}
}
