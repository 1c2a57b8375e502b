package guard_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/edge/api/guard"
)

// echo answers with the request that the guard passed on.
func echo(w http.ResponseWriter, r *http.Request) {
	if _, err := io.ReadAll(r.Body); err != nil {
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		return
	}
	secure := "http"
	if guard.Secure(r.Context()) {
		secure = "https"
	}
	_, _ = io.WriteString(w, secure+" "+guard.ClientAddress(r.Context())+" "+r.URL.Path)
}

func ask(t *testing.T, options guard.Options, method, target, body string, header map[string]string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	r.Host = "127.0.0.1:8080"
	for name, value := range header {
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Set(name, value)
	}
	recorded := httptest.NewRecorder()
	guard.Wrap(options, http.HandlerFunc(echo)).ServeHTTP(recorded, r)
	return recorded.Code, recorded.Body.String()
}

func TestForeignRequestsAreRefused(t *testing.T) {
	t.Parallel()
	options := guard.Options{Hosts: []string{"Roundsman.example"}}
	for name, row := range map[string]struct {
		method string
		header map[string]string
		status int
	}{
		"plain":             {"GET", nil, 200},
		"localhost":         {"GET", map[string]string{"Host": "localhost:8080"}, 200},
		"its own name":      {"GET", map[string]string{"Host": "roundsman.example"}, 200},
		"its own origin":    {"POST", map[string]string{"Host": "roundsman.example", "Origin": "https://roundsman.example"}, 200},
		"address in IPv6":   {"GET", map[string]string{"Host": "[::1]:8080"}, 200},
		"foreign host":      {"GET", map[string]string{"Host": "evil.example"}, 403},
		"rebinding":         {"POST", map[string]string{"Host": "evil.example", "Origin": "http://evil.example", "Sec-Fetch-Site": "same-origin"}, 403},
		"a lookalike":       {"GET", map[string]string{"Host": "localhost.evil.example"}, 403},
		"foreign origin":    {"POST", map[string]string{"Origin": "https://evil.example"}, 403},
		"foreign read":      {"GET", map[string]string{"Origin": "https://evil.example"}, 403},
		"no origin at all":  {"GET", map[string]string{"Origin": "null"}, 403},
		"another site":      {"GET", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		"the same site":     {"GET", map[string]string{"Sec-Fetch-Site": "same-site"}, 403},
		"typed in":          {"GET", map[string]string{"Sec-Fetch-Site": "none"}, 200},
		"a followed link":   {"GET", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 200},
		"a foreign form":    {"POST", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 403},
		"forged proxy host": {"GET", map[string]string{"Host": "evil.example", "X-Forwarded-Host": "localhost"}, 403},
	} {
		status, _ := ask(t, options, row.method, "/x", "", row.header)
		assert.Equal(t, row.status, status, name)
	}
}

func TestBodiesAreJSONAndBounded(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]int{"application/json": 200, "application/json; charset=utf-8": 200, "text/plain": 415, "application/x-www-form-urlencoded": 415, "": 415} {
		status, _ := ask(t, guard.Options{}, "POST", "/x", "{}", map[string]string{"Content-Type": kind})
		assert.Equal(t, want, status, kind)
	}
	status, _ := ask(t, guard.Options{}, "POST", "/x", strings.Repeat("x", guard.MaxBody+1), map[string]string{"Content-Type": "application/json"})
	assert.Equal(t, 413, status)
}

func TestProxiesAreBelievedOnlyIfTrusted(t *testing.T) {
	t.Parallel()
	said := map[string]string{"X-Forwarded-For": "1.1.1.1, 203.0.113.7, 192.0.2.9", "X-Forwarded-Proto": "https"}
	_, body := ask(t, guard.Options{}, "GET", "/x", "", said)
	assert.Equal(t, "http 192.0.2.1 /x", body, "httptest's peer is not trusted")
	trusted := guard.Options{Proxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}
	_, body = ask(t, trusted, "GET", "/x", "", said)
	assert.Equal(t, "https 203.0.113.7 /x", body, "what the client itself claims is not believed")
	for written, want := range map[string]string{"https, http": "https", "HTTPS": "https", " https ,https": "https", "http, https": "http", ",": "http"} {
		_, body = ask(t, trusted, "GET", "/x", "", map[string]string{"X-Forwarded-Proto": written})
		assert.Equal(t, want+" 192.0.2.1 /x", body, "%q: the client speaks to the first proxy of a chain", written)
	}
	status, _ := ask(t, trusted, "GET", "/x", "", map[string]string{"X-Forwarded-Host": "localhost, evil.example"})
	assert.Equal(t, 403, status, "a page may send the first of two")
}

func TestBasePathIsRemovedOnce(t *testing.T) {
	t.Parallel()
	options := guard.Options{BasePath: "/ops/roundsman"}
	for target, want := range map[string]string{
		"/ops/roundsman/api/v1/me": "/api/v1/me", "/api/v1/me": "/api/v1/me", "/ops/roundsman": "/", "/ops/roundsmanx": "/ops/roundsmanx",
	} {
		_, body := ask(t, options, "GET", target, "", nil)
		assert.Equal(t, "http 192.0.2.1 "+want, body)
	}
}

func TestPathsWithoutControlCharacters(t *testing.T) {
	t.Parallel()
	for target, status := range map[string]int{
		"/workers/%00":             http.StatusNotFound,
		"/workers/a%0ab":           http.StatusNotFound,
		"/workers/%ff%fe":          http.StatusNotFound,
		"/workers/%c2%85":          http.StatusNotFound,
		"/explain?thing=%0":        http.StatusOK, // The operation answers a malformed query.
		"/explain?thing=%00":       http.StatusUnprocessableEntity,
		"/explain?thing=%ff":       http.StatusUnprocessableEntity,
		"/explain?%1b=x":           http.StatusUnprocessableEntity,
		"/workers/%C3%A9":          http.StatusOK,
		"/explain?thing=%E2%82%AC": http.StatusOK,
	} {
		got, body := ask(t, guard.Options{}, http.MethodGet, target, "", nil)
		assert.Equal(t, status, got, "%s: %s", target, body)
	}
}
