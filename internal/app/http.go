package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/api/authoring"
	"github.com/roundsman/roundsman/internal/edge/console"
	"github.com/roundsman/roundsman/internal/edge/feed"
	"github.com/roundsman/roundsman/internal/edge/gateway"
	"github.com/roundsman/roundsman/internal/edge/gateway/rest"
	"github.com/roundsman/roundsman/internal/edge/telemetry"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

// HTTP is the REST interface of a control plane. A nil *HTTP serves nothing.
type HTTP struct {
	// Address to listen on, completed by telemetry.Address.
	Address string
	// AnyPort uses another port if that of Address is in use.
	AnyPort bool
	// Moved is the error of Address, if another port is used.
	Moved error
	// User is the caller without a log-in.
	User   string
	Access config.Access
	// Handlers in addition to the built-in ones.
	Handlers []jobtype.Handler

	// bare serves remote workers only.
	bare     bool
	client   *starter.Client
	gateway  *gateway.Gateway
	logger   *slog.Logger
	listener net.Listener
	server   *http.Server
	denials  *denials
	live     *feed.Hub
	failed   chan error
	files    accessFiles
}

// There is no timeout for writing: events last for hours, and answers that wait have their own bound.
const (
	readHeaderWithin = 10 * time.Second
	readWithin       = 30 * time.Second
	idleWithin       = 2 * time.Minute
	mostHeaderBytes  = 64 << 10
	stopHTTPWithin   = 5 * time.Second
)

// ErrOpenAddress refuses an address other than loopback without a log-in.
var ErrOpenAddress = errors.New("on another address than loopback callers must log in: set access.keys, access.oidc or access.client_ca in the configuration (docs/access.md)")

// NewHTTP prepares the REST interface at address; a port alone means loopback. An empty address returns nil.
// user is the caller without a log-in.
func NewHTTP(address, user string, rules config.Access) (*HTTP, error) {
	if address == "" {
		return nil, nil
	}
	complete, err := telemetry.Address(address)
	if err != nil {
		return nil, fmt.Errorf("serve HTTP: %w", err)
	}
	if !Loopback(complete) && !rules.LogIn() {
		return nil, fmt.Errorf("serve HTTP at %s: %w", address, ErrOpenAddress)
	}
	h := &HTTP{Address: complete, User: user, Access: rules, failed: make(chan error, 1), live: feed.New()}
	if err := h.readFiles(); err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}
	return h, nil
}

// Watch shows viewers of the API at once the effects of the control plane on the connection of options.
func (h *HTTP) Watch(options *starter.Options) {
	if h == nil {
		return
	}
	first := options.Intercept
	if first == nil {
		options.Intercept = h.live.Intercept
		return
	}
	options.Intercept = func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, more ...grpc.CallOption) error {
		return first(ctx, method, req, reply, cc, func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, more ...grpc.CallOption) error {
			return h.live.Intercept(ctx, method, req, reply, cc, invoke, more...)
		}, more...)
	}
}

// Loopback reports whether only this machine can connect. Otherwise a process must authenticate its callers.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// The server is the last part to start and the first to stop, so the control plane runs while it does.
func (h *HTTP) parts(client *starter.Client, logger *slog.Logger) parts {
	if h == nil {
		return nil
	}
	h.client, h.logger = client, logger
	return parts{{"http", h}}
}

// URL returns the URL of the API while it is served.
func (h *HTTP) URL() string {
	if h == nil || h.listener == nil {
		return ""
	}
	scheme := "http://"
	if h.files.tls != nil {
		scheme = "https://"
	}
	return scheme + h.listener.Addr().String() + "/"
}

func (h *HTTP) listen(ctx context.Context) (err error) {
	h.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", h.Address)
	if err != nil && h.AnyPort {
		h.Moved = err
		h.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	}
	return err
}

// Start implements component.
func (h *HTTP) Start(ctx context.Context) error {
	var err error
	if h.gateway, err = newGateway(ctx, h.client, h.logger); err != nil {
		return err
	}
	if err = h.listen(ctx); err != nil {
		return fmt.Errorf("http: %w: choose another --http", err)
	}
	listener := h.listener
	if h.files.tls != nil {
		listener = tls.NewListener(listener, h.files.tls)
	}
	h.denials = newDenials(h.client)
	var served http.Handler
	options, err := h.options()
	if err != nil {
		return err
	}
	// The same guard protects the paths of other worker managers.
	foreign := rest.Workers(api.Prefix, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { served.ServeHTTP(w, r) }))
	options.Pages["/workers"], options.Pages["/workers/"] = foreign, foreign
	served = api.New(options).Handler()
	requests, end := context.WithCancel(context.WithoutCancel(ctx))
	h.server = &http.Server{
		BaseContext: func(net.Listener) context.Context { return requests },
		Handler:     served, ReadHeaderTimeout: readHeaderWithin, ReadTimeout: readWithin, IdleTimeout: idleWithin,
		MaxHeaderBytes: mostHeaderBytes, ErrorLog: slog.NewLogLogger(h.logger.Handler(), slog.LevelDebug),
	}
	h.server.RegisterOnShutdown(end) // Polls and events would last for minutes.
	go func() {
		if err := h.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			h.failed <- err
		}
	}()
	h.logger.Info("the API is served", "address", listener.Addr().String(), "path", api.Prefix)
	return nil
}

func (h *HTTP) options() (api.Options, error) {
	known, logIn := h.authenticator()
	descriptors, validators, err := Descriptors(h.Handlers)
	all := pages(h.bare)
	maps.Copy(all, logIn)
	return api.Options{
		Client: h.client, As: h.as, Auth: known, Denied: h.denials.add, Roles: h.Access.Roles, Bindings: h.Access.Bindings, Keys: h.Access.Keys, LogIn: h.Access.LogIn(), Guard: h.guard(),
		Secret: h.files.secret, Live: h.live, Logger: h.logger, Bare: h.bare, Extra: extraOperations(h.gateway, h.bare), Pages: all,
		Handlers: descriptors, Validators: validators,
	}, err
}

func extraOperations(g *gateway.Gateway, bare bool) []func(*api.API) {
	if bare {
		return []func(*api.API){rest.Protocol(g)}
	}
	return []func(*api.API){rest.Protocol(g), rest.Management, authoring.Operations, console.Operations()}
}

func pages(bare bool) map[string]http.Handler {
	if bare {
		return map[string]http.Handler{}
	}
	return map[string]http.Handler{"/": console.Handler()}
}

func (h *HTTP) as(ctx context.Context, caller api.Caller) (*starter.Client, func(), error) {
	client, err := h.client.For(ctx, starter.Person{Actor: caller.Name, From: caller.Address, Via: cmp.Or(caller.Via, contract.ViaAPI), Auth: caller.Auth}, func(err error) {
		h.logger.Warn("not recorded in the audit log", "error", err)
	})
	if err != nil {
		return nil, nil, err
	}
	return client, client.Close, nil
}

// Wait implements component.
func (h *HTTP) Wait(ctx context.Context) error {
	select {
	case err := <-h.failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

// Stop implements component. Requests in progress may finish for a moment.
func (h *HTTP) Stop(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, stopHTTPWithin)
	defer cancel()
	err := h.server.Shutdown(limited)
	if errors.Is(err, context.DeadlineExceeded) {
		err = h.server.Close() // Event streams do not end by themselves.
	}
	h.denials.stop(ctx)
	return err
}

// APIDocument returns the OpenAPI document of all operations as YAML; with old in OpenAPI 3.0.
func APIDocument(old bool) ([]byte, error) {
	built := api.New(api.Options{Extra: extraOperations(nil, false)})
	if old {
		return built.Downgraded()
	}
	return built.Document()
}
