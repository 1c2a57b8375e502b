package dev

import (
	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/app"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/buildinfo"
)

func (c *commands) gatewayHTTP() *cli.Command {
	return &cli.Command{
		Name: "http", Hidden: true, Usage: "serve workers in any language over HTTP",
		Description: `It keeps no state: several may run at once, and a worker may go from one to another between two
calls. docs/remote-workers.md has the protocol; examples/remote-shell and examples/remote-python are
complete workers.

It serves the protocol of workers alone; server --http serves it as well.

Examples:
  roundsman gateway http --listen 127.0.0.1:8235`,
		Flags: ui.With(append([]cli.Flag{
			&cli.StringFlag{Name: flagListen, Usage: "serve workers at `HOST:PORT`", Value: "127.0.0.1:8235"},
			healthFlag(),
		}, ui.LogFlags()...)...),
		Action: c.runGatewayHTTP,
	}
}

func (c *commands) runGatewayHTTP(ctx *cli.Context) error {
	log, served, srv, err := c.connectHTTP(ctx, flagListen)
	if err != nil {
		return err
	}
	defer srv.Client.Close()
	gateway, err := app.StartGateway(ctx.Context, app.GatewayOptions{Client: srv.Client, HTTP: served, Health: srv.Health, Logger: log})
	if err != nil {
		return err
	}
	log.Info("the gateway serves", "address", served.URL(), "namespace", srv.Client.Namespace(), "version", buildinfo.Version())
	return serve(ctx.Context, log, gateway)
}
