package guard

import (
	"context"
	"encoding/json"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/roundsman/roundsman/internal/edge/api/problem"
)

// MaxBody is the maximum size of a request's body in bytes.
const MaxBody = 1 << 20

// Media types of bodies. Pages of other sites cannot send them without a CORS preflight.
const (
	JSON = "application/json"
	YAML = "application/yaml"
)

// Options describe the public addresses of the server.
type Options struct {
	// Hosts are its names without ports, in addition to localhost and the machine's addresses.
	Hosts []string
	// Path at which a proxy publishes it, like /roundsman, whether or not the proxy removes it.
	BasePath string
	// Proxies are the networks whose X-Forwarded headers are trusted.
	Proxies []netip.Prefix
}

type origin struct {
	address netip.Addr
	secure  bool
}

type originKey struct{}

// ClientAddress returns the address of the client behind trusted proxies.
func ClientAddress(ctx context.Context) string {
	if from, ok := ctx.Value(originKey{}).(origin); ok && from.address.IsValid() {
		return from.address.String()
	}
	return ""
}

// Secure reports whether the client uses TLS, to this server or to a trusted proxy.
func Secure(ctx context.Context) bool {
	from, _ := ctx.Value(originKey{}).(origin)
	return from.secure
}

// Wrap returns a handler that checks requests before next.
func Wrap(options Options, next http.Handler) http.Handler {
	g := &guard{options: options, next: next, cross: http.NewCrossOriginProtection()}
	return http.HandlerFunc(g.serve)
}

type guard struct {
	options Options
	next    http.Handler
	cross   *http.CrossOriginProtection
}

func (g *guard) serve(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("X-Frame-Options", "DENY")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	r = g.forwarded(r)
	if refused := g.check(r); refused != nil {
		Refuse(w, refused)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, MaxBody)
	g.next.ServeHTTP(w, g.withoutBase(r))
}

// Refuse writes a problem as the answer.
func Refuse(w http.ResponseWriter, refused *problem.Problem) {
	w.Header().Set("Content-Type", problem.ContentType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(refused.Status)
	text, err := json.Marshal(refused)
	if err == nil {
		_, _ = w.Write(append(text, '\n')) // The client has disconnected.
	}
}

// forwarded trusts the headers of proxies from the last hop backwards, up to the first untrusted hop.
func (g *guard) forwarded(r *http.Request) *http.Request {
	from := origin{secure: r.TLS != nil}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err == nil {
		from.address = peer.Addr().Unmap()
	}
	if g.trusts(from.address) {
		hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		for _, hop := range slices.Backward(hops) {
			if !g.trusts(from.address) {
				break
			}
			address, err := netip.ParseAddr(strings.TrimSpace(hop))
			if err != nil {
				break
			}
			from.address = address.Unmap()
		}
		// In a chain of proxies, each adds its value; the first is the client's.
		scheme, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Proto"), ",")
		if scheme = strings.TrimSpace(scheme); scheme != "" {
			from.secure = strings.EqualFold(scheme, "https")
		}
		// The first of two hosts may come from a page, so neither is used.
		if host := r.Header.Get("X-Forwarded-Host"); host != "" {
			r = r.Clone(r.Context())
			r.Host = host
		}
	}
	return r.WithContext(context.WithValue(r.Context(), originKey{}, from))
}

func (g *guard) trusts(address netip.Addr) bool {
	return address.IsValid() && slices.ContainsFunc(g.options.Proxies, func(p netip.Prefix) bool { return p.Contains(address) })
}

func (g *guard) check(r *http.Request) *problem.Problem {
	if !g.knows(r.Host) {
		return problem.Newf(http.StatusForbidden, problem.CodeForeignHost, "this server is not reached as %q", r.Host).
			With("add the name to access.hosts in the configuration of the server")
	}
	// Names in the namespace have no such characters, and the server returns errors for them.
	if !plain(r.URL.Path) {
		return problem.Newf(http.StatusNotFound, problem.CodeNotFound, "there is no %.200q: the path has control characters or is not UTF-8", r.URL.Path)
	}
	for name, values := range r.URL.Query() {
		if !plain(name) || slices.ContainsFunc(values, func(value string) bool { return !plain(value) }) {
			return problem.Newf(http.StatusUnprocessableEntity, problem.CodeInvalid, "the query parameter %.100q has control characters or is not UTF-8", name).
				With("leave them out")
		}
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" && !navigates(r) {
		return problem.Newf(http.StatusForbidden, problem.CodeForeignOrigin, "a page of another site sent this request (%s)", site)
	}
	if !g.sameOrigin(r) || g.cross.Check(r) != nil {
		return problem.Newf(http.StatusForbidden, problem.CodeForeignOrigin, "a page of %s sent this request", r.Header.Get("Origin"))
	}
	if hasBody(r) {
		kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err != nil || kind != JSON && kind != YAML {
			return problem.New(http.StatusUnsupportedMediaType, "", "a body must be application/json, or application/yaml where the operation takes a document")
		}
	}
	if r.ContentLength > MaxBody {
		return problem.Newf(http.StatusRequestEntityTooLarge, "", "the body has %d bytes; at most %d are taken", r.ContentLength, MaxBody)
	}
	return nil
}

func plain(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// navigates reports whether a person follows a link to a page, which only reads.
func navigates(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// sameOrigin is stricter than CrossOriginProtection, which allows every GET.
func (*guard) sameOrigin(r *http.Request) bool {
	written := r.Header.Get("Origin")
	if written == "" {
		return true
	}
	parsed, err := url.Parse(written)
	return err == nil && parsed.Host != "" && strings.EqualFold(parsed.Host, r.Host)
}

func hasBody(r *http.Request) bool {
	return r.ContentLength != 0 && r.Method != http.MethodGet && r.Method != http.MethodHead
}

// All addresses are names of this server: a DNS name cannot become an address in the Host header.
func (g *guard) knows(written string) bool {
	host := written
	if name, _, err := net.SplitHostPort(written); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || slices.ContainsFunc(g.options.Hosts, func(own string) bool { return strings.EqualFold(own, host) })
}

func (g *guard) withoutBase(r *http.Request) *http.Request {
	base := g.options.BasePath
	if base == "" || r.URL.Path != base && !strings.HasPrefix(r.URL.Path, base+"/") {
		return r
	}
	stripped := r.Clone(r.Context())
	stripped.URL.Path = "/" + strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, base), "/")
	stripped.URL.RawPath = ""
	if r.URL.RawPath != "" {
		stripped.URL.RawPath = "/" + strings.TrimPrefix(strings.TrimPrefix(r.URL.RawPath, base), "/")
	}
	return stripped
}
