package api

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/api/guard"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/jobtype"
)

const mostLogged = 200

type accessed struct {
	method, path string
	caller       Caller
	operation    string
	verb         access.Verb
}

type accessedKey struct{}

// Identified adds the caller to the access log's line of a request.
func Identified(ctx context.Context, caller Caller) {
	if line, is := ctx.Value(accessedKey{}).(*accessed); is {
		caller.Address = cmp.Or(caller.Address, guard.ClientAddress(ctx))
		line.caller = caller
	}
}

func reached(ctx huma.Context, o Operation) {
	line, is := ctx.Context().Value(accessedKey{}).(*accessed)
	if !is || line.method != ctx.Method() {
		return
	}
	if path := ctx.URL().Path; strings.HasSuffix(line.path, path) || strings.HasSuffix(path, line.path) {
		line.operation, line.verb = o.ID, o.May.Verb
	}
}

// logged writes the access log. Writes, log-ins and refusals have level info; reads and the protocol of workers
// debug. A line has no header, query or body, and so no key.
func (a *API) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, again := r.Context().Value(accessedKey{}).(*accessed); again {
			next.ServeHTTP(w, r)
			return
		}
		began, line := time.Now(), &accessed{method: r.Method, path: r.URL.Path}
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		line.caller.Address = host
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		defer func() {
			level := line.level(seen.status)
			if logger := a.options.Logger; logger.Enabled(r.Context(), level) {
				logger.LogAttrs(context.WithoutCancel(r.Context()), level, "access", line.attributes(seen.status, time.Since(began), a.options.Bare)...)
			}
		}()
		next.ServeHTTP(seen, r.WithContext(context.WithValue(r.Context(), accessedKey{}, line)))
	})
}

func (l *accessed) level(status int) slog.Level {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden || strings.Contains(l.path, "/auth/"):
		return slog.LevelInfo
	case l.method == http.MethodGet, l.method == http.MethodHead, l.verb == access.Work:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

func (l *accessed) attributes(status int, took time.Duration, bare bool) []slog.Attr {
	if bare { // A caller refused early has no Via.
		l.caller.Via = contract.ViaGateway
	}
	operation := cmp.Or(l.operation, jobtype.Clip(l.method+" "+pathWithoutLease(l.path), mostLogged))
	return []slog.Attr{
		slog.String("who", l.caller.Name), slog.String("via", viaOf(l.caller, l.verb)), slog.String("auth", l.caller.Auth), slog.String("address", l.caller.Address),
		slog.String("operation", operation), slog.Int("status", status), slog.Duration("duration", took.Round(time.Microsecond)),
	}
}

// The protocol of workers counts as the gateway, in every process.
func viaOf(caller Caller, verb access.Verb) string {
	if verb == access.Work {
		return contract.ViaGateway
	}
	return cmp.Or(caller.Via, contract.ViaAPI)
}

// A lease is a credential for one job.
func pathWithoutLease(path string) string {
	before, lease, is := strings.Cut(path, "/leases/")
	if !is {
		return path
	}
	_, verb, _ := strings.Cut(lease, "/")
	return before + "/leases/…/" + verb
}

type statusWriter struct {
	http.ResponseWriter
	status  int
	written bool
}

// WriteHeader implements http.ResponseWriter.
func (s *statusWriter) WriteHeader(status int) {
	if !s.written {
		s.status, s.written = status, true
	}
	s.ResponseWriter.WriteHeader(status)
}

func (s *statusWriter) Write(p []byte) (int, error) {
	s.written = true
	return s.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController flush and set deadlines.
func (s *statusWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }
