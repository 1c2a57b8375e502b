package devserver

import (
	uiserver "github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	uioptions "github.com/temporalio/ui-server/v2/server/server_options"
)

// webUI is the Temporal Web UI, served by the same process.
type webUI struct {
	server *uiserver.Server
	done   chan error
}

// startUI serves the Web UI of the frontend on p.ui. It returns at once; the
// port was checked before, and awaitHealthy waits until the UI answers.
func startUI(p ports, namespace string) *webUI {
	ui := &webUI{
		server: uiserver.NewServer(uioptions.WithConfigProvider(&uiconfig.Config{
			TemporalGRPCAddress: hostPort(p.frontend),
			Host:                loopback,
			Port:                p.ui,
			EnableUI:            true,
			DefaultNamespace:    namespace,
			// Plain HTTP on loopback: a Secure cookie would never be sent back.
			CORS: uiconfig.CORS{CookieInsecure: true},
			// Stdout carries the ready line and nothing else.
			HideLogs: true,
			// No request leaves this machine.
			DisableNewsFetch: true,
		})),
		done: make(chan error, 1),
	}
	go func() { ui.done <- ui.server.Start() }()
	return ui
}

// stop ends the Web UI and waits for it. A nil receiver has nothing to stop.
func (u *webUI) stop() error {
	if u == nil {
		return nil
	}
	u.server.Stop()
	return <-u.done
}
