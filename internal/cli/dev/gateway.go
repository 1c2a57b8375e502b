package dev

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/app"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/edge/telemetry"
	"github.com/roundsman/roundsman/internal/lib/buildinfo"
	"github.com/roundsman/roundsman/internal/seaweedfs/gateway"
)

func (c *commands) gatewayCommand() *cli.Command {
	return &cli.Command{
		Name: "gateway", Usage: "let workers that are not Roundsman's own serve job types",
		Description: "Workers in any language: roundsman gateway http serves their protocol alone, roundsman server --http serves it, too.",
		Subcommands: []*cli.Command{c.gatewayHTTP(), c.gatewaySeaweedFS()},
	}
}

const (
	flagListen     = "listen"
	flagGRPCListen = "grpc-listen"
	flagTLSCert    = "tls-cert"
	flagTLSKey     = "tls-key"
	flagClientCA   = "tls-client-ca"
	flagInsecure   = "insecure"
	flagMaxWorkers = "max-workers"
)

func (c *commands) gatewaySeaweedFS() *cli.Command {
	return &cli.Command{
		Name: "seaweedfs", Usage: "serve unmodified weed workers",
		Description: `Workers connect without a change: weed worker -admin=HOST:PORT. Their gRPC stream is served 10000
ports above, or at --grpc-listen; they find it by themselves. Each becomes a worker of the fleet, with
a handler weed-NAME for each of its job types: roundsman jobtypes import writes their configuration.

Another address than loopback needs --tls-client-ca, or --insecure in a network that is closed.

Examples:
  roundsman gateway seaweedfs --listen 127.0.0.1:23646
  roundsman gateway seaweedfs --listen 10.0.0.5:23646 --tls-cert gw.crt --tls-key gw.key --tls-client-ca ca.crt`,
		Flags: ui.With(append([]cli.Flag{
			&cli.StringFlag{Name: flagListen, Usage: "serve workers at `[HOST:]PORT`, the value of their -admin", Value: "127.0.0.1:23646"},
			&cli.StringFlag{Name: flagGRPCListen, Hidden: true, Usage: "serve their stream at `HOST:PORT` (default: 10000 ports above)"},
			&cli.StringFlag{Name: flagTLSCert, Usage: "certificate of the stream, a PEM `FILE`"},
			&cli.StringFlag{Name: flagTLSKey, Usage: "its key, a PEM `FILE`"},
			&cli.StringFlag{Name: flagClientCA, Usage: "take only workers with a certificate of this CA, a PEM `FILE`"},
			&cli.BoolFlag{Name: flagInsecure, Usage: "serve an address beyond loopback without authentication"},
			&cli.IntFlag{Name: flagMaxWorkers, Hidden: true, Usage: "serve at most `N` workers", Value: gateway.DefaultMaxWorkers},
			&cli.StringFlag{Name: ui.FlagDataDir, Usage: "keep the state in `DIR`", Value: ".roundsman"},
			&cli.DurationFlag{Name: "drain-timeout", Hidden: true, Usage: "let running jobs continue for `DURATION` after a signal to stop", Value: app.DefaultDrainTimeout},
		}, ui.LogFlags()...)...),
		Action: c.runGatewaySeaweedFS,
	}
}

func (c *commands) runGatewaySeaweedFS(ctx *cli.Context) error {
	settings, err := weedGatewayOptions(ctx)
	if err != nil {
		return err
	}
	log, srv, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer srv.Client.Close()
	settings.Client, settings.Logger = srv.Client, log
	gateway, err := app.StartWeedGateway(ctx.Context, settings)
	if err != nil {
		return err
	}
	log.Info("the gateway serves", "admin", gateway.Address(), "grpc", gateway.GRPCAddress(), "namespace", srv.Client.Namespace(), "version", buildinfo.Version())
	return serve(ctx.Context, log, gateway)
}

func weedGatewayOptions(ctx *cli.Context) (app.WeedGatewayOptions, error) {
	dir, err := filepath.Abs(ctx.String(ui.FlagDataDir))
	if err != nil {
		return app.WeedGatewayOptions{}, fmt.Errorf("--data-dir: %w", err)
	}
	drain := ctx.Duration("drain-timeout")
	if drain < 0 {
		return app.WeedGatewayOptions{}, ui.Usagef("--drain-timeout %s: must not be negative", drain)
	}
	if most := ctx.Int(flagMaxWorkers); most < 1 {
		return app.WeedGatewayOptions{}, ui.Usagef("--max-workers %d: must be at least 1", most)
	}
	listen, err := telemetry.Address(ctx.String(flagListen))
	if err != nil {
		return app.WeedGatewayOptions{}, ui.Usagef("--listen: %w", err)
	}
	stream, err := gateway.GRPCAddress(listen, ctx.String(flagGRPCListen))
	if err != nil {
		return app.WeedGatewayOptions{}, ui.Usagef("--listen: %w", err)
	}
	secured, err := streamTLS(ctx)
	if err != nil {
		return app.WeedGatewayOptions{}, err
	}
	known := secured != nil && secured.ClientCAs != nil
	if !known && !ctx.Bool(flagInsecure) && (!app.Loopback(stream) || !app.Loopback(listen)) {
		return app.WeedGatewayOptions{}, ui.Usagef("--listen %s: any host that connects could act as a worker: give --tls-cert, --tls-key and --tls-client-ca, or --insecure", listen)
	}
	return app.WeedGatewayOptions{DataDir: dir, DrainTimeout: drain, Gateway: gateway.Options{
		Listen: listen, GRPCListen: ctx.String(flagGRPCListen), TLS: secured, MaxWorkers: ctx.Int(flagMaxWorkers),
	}}, nil
}

// streamTLS is nil without a certificate.
func streamTLS(ctx *cli.Context) (*tls.Config, error) {
	cert, key, ca := ctx.String(flagTLSCert), ctx.String(flagTLSKey), ctx.String(flagClientCA)
	switch {
	case cert == "" && key == "" && ca == "":
		return nil, nil
	case cert == "" || key == "":
		return nil, ui.Usagef("--tls-cert and --tls-key belong together, and --tls-client-ca needs both")
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, ui.Usagef("--tls-cert: %w", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if ca == "" {
		return config, nil
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, ui.Usagef("--tls-client-ca: %w", err)
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !config.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, ui.Usagef("--tls-client-ca %s: no certificate in it", ca)
	}
	return config, nil
}
