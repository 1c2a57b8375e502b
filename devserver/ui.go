package devserver

import (
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"runtime"
	"strconv"
	"time"

	uiserver "github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	uioptions "github.com/temporalio/ui-server/v2/server/server_options"
)

const uiHeaderTimeout = 10 * time.Second

type webUI struct {
	server *uiserver.Server
	door   *http.Server
	done   chan error
}

// startUI returns at once; awaitHealthy waits until the UI answers.
func startUI(p ports, namespace string) *webUI {
	host := hiddenHost()
	ui := &webUI{
		server: uiserver.NewServer(uioptions.WithConfigProvider(&uiconfig.Config{
			TemporalGRPCAddress: hostPort(p.frontend),
			Host:                host,
			Port:                p.uiBehind,
			EnableUI:            true,
			DefaultNamespace:    namespace,
			// Plain HTTP on loopback: a Secure cookie would never be sent back.
			CORS: uiconfig.CORS{CookieInsecure: true},
			// Stdout carries the ready line and nothing else.
			HideLogs: true,
			// No request leaves this machine.
			DisableNewsFetch: true,
		})),
		door: &http.Server{
			Addr: hostPort(p.ui), Handler: uiDoor(net.JoinHostPort(host, strconv.Itoa(p.uiBehind))),
			ReadHeaderTimeout: uiHeaderTimeout,
		},
		done: make(chan error, 2),
	}
	go func() { ui.done <- ui.server.Start() }()
	go func() { ui.done <- ui.door.ListenAndServe() }()
	return ui
}

// A page that rebinds its own name to 127.0.0.1 must not find the Web UI behind the door's back; on Linux all of
// 127.0.0.0/8 is loopback.
func hiddenHost() string {
	if runtime.GOOS != "linux" {
		return loopback
	}
	return fmt.Sprintf("127.%d.%d.%d", 1+rand.N(254), rand.N(256), 1+rand.N(254)) //nolint:gosec // an address, not a secret
}

// The UI has no login and takes any Host: a web page whose name is rebound to loopback could terminate workflows.
func uiDoor(address string) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: address})
			r.Out.Host = r.In.Host // The UI compares it with the Origin.
		},
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			http.Error(w, "the Web UI is starting or stopping: try again", http.StatusBadGateway)
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !namesThisMachine(r.Host) {
			http.Error(w, "this Web UI answers on localhost and 127.0.0.1 only: open it under one of these names", http.StatusForbidden)
			return
		}
		proxy.ServeHTTP(w, r)
	})
}

func namesThisMachine(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	switch host {
	case "localhost", loopback, "::1", "[::1]":
		return true
	}
	return false
}

// stop ends the Web UI and waits for it. A nil receiver has nothing to stop.
func (u *webUI) stop() error {
	if u == nil {
		return nil
	}
	_ = u.door.Close()
	u.server.Stop()
	var faults []error
	for range 2 {
		if err := <-u.done; !errors.Is(err, http.ErrServerClosed) {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}
