package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Timeouts of the HTTP server. Its answers are small and its clients near.
const (
	headerTimeout = 5 * time.Second
	answerTimeout = 30 * time.Second
)

// Checks return nil, or the fault of the process.
type Checks struct {
	// Alive fails if the process must be restarted. An absent server is no such reason.
	Alive func() error
	// Ready fails if the process cannot do its work now.
	Ready func() error
}

// Server serves a [Telemetry]: /healthz and /readyz answer 200, or 503 with a reason.
type Server struct {
	http     *http.Server
	listener net.Listener
	failed   chan error
}

// Address completes a configured address: a port alone means loopback.
func Address(written string) (string, error) {
	if !strings.Contains(written, ":") {
		written = ":" + written
	}
	host, port, err := net.SplitHostPort(written)
	if err != nil {
		return "", fmt.Errorf("address %q: %w: write a port, or host:port", written, err)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return "", fmt.Errorf("address %q: the port must be between 0 and 65535", written)
	}
	host = cmp.Or(host, "127.0.0.1")
	return net.JoinHostPort(host, port), nil
}

// Listen serves at address until Close. On loopback it accepts only requests with a loopback Host.
func (t *Telemetry) Listen(ctx context.Context, address string, checks Checks) (*Server, error) {
	address, err := Address(address)
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("health: %w: choose another --health-addr", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", answer(checks.Alive))
	mux.Handle("GET /readyz", answer(checks.Ready))
	mux.Handle("GET /metrics", promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{Registry: t.registry, Timeout: answerTimeout}))
	served := http.Handler(mux)
	if local(listener.Addr()) {
		profile(mux)
		served = fromHere(mux)
	}
	s := &Server{
		http:     &http.Server{Handler: served, ReadHeaderTimeout: headerTimeout, WriteTimeout: 2 * answerTimeout},
		listener: listener, failed: make(chan error, 1),
	}
	go func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- fmt.Errorf("health: %w", err)
		}
		close(s.failed)
	}()
	return s, nil
}

func profile(mux *http.ServeMux) {
	for pattern, handler := range map[string]http.HandlerFunc{
		"GET /debug/pprof/": pprof.Index, "GET /debug/pprof/cmdline": pprof.Cmdline, "GET /debug/pprof/profile": pprof.Profile,
		"GET /debug/pprof/symbol": pprof.Symbol, "GET /debug/pprof/trace": pprof.Trace,
	} {
		mux.Handle(pattern, handler)
	}
}

func local(address net.Addr) bool {
	tcp, ok := address.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// A page in a browser on this machine may have resolved its own name to loopback.
func fromHere(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if ip := net.ParseIP(strings.Trim(host, "[]")); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "only under a loopback address", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Addr returns the address with the real port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Failed returns a channel with the error of a server that ended by itself. It is closed at the end.
func (s *Server) Failed() <-chan error { return s.failed }

// Close ends the server. Answers in progress may finish until ctx ends.
func (s *Server) Close(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	for range s.failed { // Wait for its goroutine.
	}
	return err
}

func answer(check func() error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		if err := check(); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = fmt.Fprintln(w, err) // A disconnected client needs no answer.
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	})
}
