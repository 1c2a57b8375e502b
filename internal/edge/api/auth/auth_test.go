package auth_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/api/auth"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/starter/keys"
)

// site is a server with a log-in at the test's own issuer.
type site struct {
	issuer   *issuer
	handler  http.Handler
	sessions *auth.Sessions
	now      time.Time
	ended    *endings
}

type endings struct {
	list  []keys.Session
	fault error
}

func (e *endings) Ended(_ context.Context, session keys.Session) (bool, error) {
	return slices.ContainsFunc(e.list, func(other keys.Session) bool { return other.ID == session.ID }), e.fault
}

func (e *endings) EndSession(_ context.Context, session keys.Session) error {
	e.list = append(e.list, session)
	return e.fault
}

func newSite(t *testing.T) *site {
	t.Helper()
	return newSiteAt(t, "")
}

func newSiteAt(t *testing.T, address string) *site {
	t.Helper()
	s := &site{issuer: newIssuer(t), now: time.Now(), ended: &endings{}}
	var err error
	s.sessions, err = auth.NewSessions(bytes.Repeat([]byte("s"), 32), func() time.Time { return s.now })
	require.NoError(t, err)
	provider := auth.NewOIDC(config.OIDC{
		Issuer: cmp.Or(address, s.issuer.URL), ClientID: "roundsman", RedirectURL: "http://localhost/auth/callback", Groups: []string{"sre", "dba"}, GroupsClaim: "groups", NameClaim: "email",
	}, "", s.sessions, s.issuer.Client())
	policy := access.Policy{Bindings: []access.Binding{{Group: "sre", Role: access.Operator}}}
	known := auth.New(auth.Options{Policy: policy, OIDC: provider, Sessions: s.sessions, Keys: ring{}, Ended: s.ended})
	s.handler = api.New(api.Options{Auth: known, Pages: known.Pages("/")}).Handler()
	return s
}

func (s *site) get(t *testing.T, target string, edit func(*http.Request)) answered {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	r.Host = "localhost"
	if edit != nil {
		edit(r)
	}
	recorded := httptest.NewRecorder()
	s.handler.ServeHTTP(recorded, r)
	return answered{recorded}
}

type answered struct{ *httptest.ResponseRecorder }

func (a answered) cookies() []*http.Cookie {
	return (&http.Response{Header: a.Header()}).Cookies()
}

// logIn does a whole log-in; edit changes the query that the browser returns.
func (s *site) logIn(t *testing.T, edit func(url.Values)) answered {
	t.Helper()
	begun := s.get(t, "/auth/login", nil)
	require.Equal(t, http.StatusFound, begun.Code)
	back := s.issuer.goTo(t, begun.Header().Get("Location"))
	if edit != nil {
		edit(back)
	}
	return s.get(t, "/auth/callback?"+back.Encode(), func(r *http.Request) {
		for _, cookie := range begun.cookies() {
			r.AddCookie(cookie)
		}
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Mode", "navigate")
		r.Header.Set("Sec-Fetch-Dest", "document")
	})
}

func session(r answered) *http.Cookie {
	for _, cookie := range r.cookies() {
		if cookie.Name == auth.CookieName && cookie.Value != "" {
			return cookie
		}
	}
	return nil
}

func TestALogInLeavesASession(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	done := s.logIn(t, nil)
	require.Equal(t, http.StatusOK, done.Code)
	cookie := session(done)
	require.NotNil(t, cookie)
	assert.True(t, cookie.HttpOnly)
	assert.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
	with := func(r *http.Request) { r.AddCookie(cookie) }
	assert.Equal(t, 200, s.get(t, api.Prefix+"/me", with).Code)
	s.now = s.now.Add(auth.SessionLasts)
	assert.Equal(t, 401, s.get(t, api.Prefix+"/me", with).Code, "it ends")
}

// A wrong answer of the provider gives no session.
func TestNoSessionForAWrongAnswer(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		claims, header map[string]any
		edit           func(url.Values)
	}{
		"nonce":         {claims: map[string]any{"nonce": "other"}},
		"no nonce":      {claims: map[string]any{"nonce": ""}},
		"audience":      {claims: map[string]any{"aud": "other"}},
		"issuer":        {claims: map[string]any{"iss": "https://evil.example"}},
		"expired":       {claims: map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}},
		"alg none":      {header: map[string]any{"alg": "none"}},
		"alg HS256":     {header: map[string]any{"alg": "HS256"}},
		"no group":      {claims: map[string]any{"groups": []string{}}},
		"foreign group": {claims: map[string]any{"groups": []string{"sales"}}},
		"groups a text": {claims: map[string]any{"groups": "sre"}},
		"state":         {edit: func(v url.Values) { v.Set("state", "other") }},
		"no state":      {edit: func(v url.Values) { v.Del("state") }},
		"code":          {edit: func(v url.Values) { v.Set("code", "bad") }},
		"refused":       {edit: func(v url.Values) { v.Set("error", "access_denied") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.issuer.claims, s.issuer.header = row.claims, row.header
			done := s.logIn(t, row.edit)
			assert.Equal(t, 401, done.Code)
			assert.Nil(t, session(done))
		})
	}
}

func TestAnAnswerWithoutABegunLogIn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	assert.Equal(t, 401, s.get(t, "/auth/callback?state=x&code=good", nil).Code)
	// The cookies of a session and of a begun log-in are not interchangeable.
	begun := s.get(t, "/auth/login", nil).cookies()[0]
	assert.Equal(t, 401, s.get(t, api.Prefix+"/me", func(r *http.Request) {
		r.AddCookie(&http.Cookie{Name: auth.CookieName, Value: begun.Value})
	}).Code)
}

// A cookie with one altered bit is refused.
func TestAnAlteredCookie(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	sealed, err := s.sessions.Close(auth.Person{Name: "ann", Groups: []string{"sre"}})
	require.NoError(t, err)
	ask := func(value string) int {
		return s.get(t, api.Prefix+"/me", func(r *http.Request) { r.AddCookie(&http.Cookie{Name: auth.CookieName, Value: value}) }).Code
	}
	require.Equal(t, 200, ask(sealed))
	for at := range sealed {
		for bit := range 8 {
			altered := []byte(sealed)
			altered[at] ^= 1 << bit
			assert.Equal(t, 401, ask(string(altered)), "byte %d bit %d", at, bit)
		}
	}
}

// A browser exchanges a key for a session. A wrong key, or a cookie of another kind, gives none.
func TestALogInByKey(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	assert.JSONEq(t, `{"oidc":true,"keys":true}`, s.get(t, "/auth/ways", nil).Body.String())
	with := func(body string) answered {
		return s.get(t, "/auth/key", func(r *http.Request) {
			r.Method, r.Body = http.MethodPost, io.NopCloser(strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			r.ContentLength = int64(len(body))
		})
	}
	for _, body := range []string{`{"key":"rmk_bad"}`, `{"key":""}`, `{"key":"rmw_x"}`} {
		refused := with(body)
		assert.Equal(t, 401, refused.Code, body)
		assert.Empty(t, refused.cookies(), body)
	}
	assert.Equal(t, 400, with("rmk_good").Code)
	in := with(`{"key":"rmk_good"}`)
	require.Equal(t, 204, in.Code, in.Body.String())
	cookie := session(in)
	require.NotNil(t, cookie)
	assert.True(t, cookie.HttpOnly)
	assert.NotContains(t, cookie.Value, "rmk_good")
	me := s.get(t, api.Prefix+"/me", func(r *http.Request) { r.AddCookie(cookie) })
	require.Equal(t, 200, me.Code)
	assert.Contains(t, me.Body.String(), `"name":"ci"`)
	require.Equal(t, 204, s.get(t, "/auth/logout", func(r *http.Request) { r.Method = http.MethodPost; r.AddCookie(cookie) }).Code)
	require.Len(t, s.ended.list, 1)
	assert.Equal(t, keys.NameOf("rmk_good"), s.ended.list[0].Name, "sessions by other keys have other names")
	s.ended.list = nil
	s.now = s.now.Add(auth.SessionLasts + time.Second)
	assert.Equal(t, 401, s.get(t, api.Prefix+"/me", func(r *http.Request) { r.AddCookie(cookie) }).Code, "it ends")
}

// A log-out ends the session as well as the cookie: a copy of the cookie is refused.
func TestALogOutEndsTheSession(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first, second := session(s.logIn(t, nil)), session(s.logIn(t, nil))
	me := func(cookie *http.Cookie) int {
		return s.get(t, api.Prefix+"/me", func(r *http.Request) { r.AddCookie(cookie) }).Code
	}
	require.Equal(t, 200, me(first))
	out := s.get(t, "/auth/logout", func(r *http.Request) { r.Method = http.MethodPost; r.AddCookie(first) })
	assert.Equal(t, 204, out.Code)
	assert.Equal(t, 401, me(first))
	assert.Equal(t, 200, me(second), "another session of the same person")
	s.ended.fault = errors.New("away")
	assert.Equal(t, 503, me(second), "nobody is let in who may have logged out")
	assert.Equal(t, 503, s.get(t, "/auth/logout", func(r *http.Request) { r.Method = http.MethodPost; r.AddCookie(second) }).Code)
}

func TestBearerTokensOfTheIssuer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	bearer := func(token string) int {
		return s.get(t, api.Prefix+"/me", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }).Code
	}
	assert.Equal(t, 200, bearer(s.issuer.token(t)))
	s.issuer.claims = map[string]any{"groups": []string{"sales"}}
	assert.Equal(t, 401, bearer(s.issuer.token(t)))
	assert.Equal(t, 401, bearer("rmk_0123456789_x"), "no keys are let in")
	assert.Equal(t, 401, bearer(""))
}

// ring contains one key, with id 1.
type ring struct{ fault error }

func (r ring) Valid(_ context.Context, id string) (bool, error) { return id == "1", r.fault }

func (r ring) Check(_ context.Context, secret string) (keys.Key, error) {
	if r.fault != nil {
		return keys.Key{}, r.fault
	}
	if secret != "rmk_good" {
		return keys.Key{}, keys.ErrUnknown
	}
	return keys.Key{ID: "1", Name: "ci", Role: access.Viewer, JobTypes: []string{"scrub"}}, nil
}

func request(t *testing.T, authorization string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	return r
}

// workers opens the tokens of three workers: one without a key, two registered by a key.
func workers(token string) (auth.RemoteWorker, error) {
	known := map[string]auth.RemoteWorker{"rmw_node-x": {ID: "node-x"}, "rmw_bound": {ID: "bound", Key: "1"}, "rmw_revoked": {ID: "revoked", Key: "2"}}
	found, is := known[token]
	if !is {
		return found, problem.New(http.StatusUnauthorized, "BAD_TOKEN", "no")
	}
	return found, nil
}

func TestKeysAndTokensOfWorkers(t *testing.T) {
	t.Parallel()
	known := auth.New(auth.Options{Keys: ring{}, Issued: ring{}, Open: "root", Workers: workers})
	caller, err := known.Authenticate(request(t, "Bearer rmk_good"))
	require.NoError(t, err)
	assert.Equal(t, "ci", caller.Name)
	view := access.Permission{Verb: access.View, Kind: access.Runs}
	assert.True(t, caller.Rights.Allows(view, access.Scope{JobType: "scrub"}))
	assert.False(t, caller.Rights.Allows(view, access.Scope{JobType: "vacuum"}))
	caller, err = known.Authenticate(request(t, "bearer rmw_node-x"))
	require.NoError(t, err)
	assert.Equal(t, "node-x", caller.Worker)
	_, err = known.Authenticate(request(t, "Bearer rmw_bound"))
	require.NoError(t, err)
	// A wrong credential never gives the caller without a log-in.
	for _, wrong := range []string{"Bearer rmk_bad", "Bearer rmw_node-y", "Bearer rmw_revoked", "Bearer x", "Basic cm9vdDo=", "Bearer"} {
		_, err := known.Authenticate(request(t, wrong))
		var p *problem.Problem
		require.ErrorAs(t, err, &p, wrong)
		assert.Equal(t, 401, p.Status, wrong)
	}
	for _, token := range []string{"rmk_good", "rmw_bound"} {
		_, err = auth.New(auth.Options{Keys: ring{errors.New("away")}, Issued: ring{errors.New("away")}, Workers: workers, Open: "root"}).Authenticate(request(t, "Bearer "+token))
		assert.Equal(t, 503, problem.From(err).Status, "keys that cannot be read let nobody in")
	}
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	known := auth.New(auth.Options{Certificates: true, Policy: access.Policy{Bindings: []access.Binding{{Certificate: "backup", Role: access.Viewer}}}})
	r := request(t, "")
	certificate := &x509.Certificate{Subject: pkix.Name{CommonName: "backup"}}
	r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{certificate}}
	_, err := known.Authenticate(r)
	assert.Error(t, err, "nobody has verified it")
	r.TLS.VerifiedChains = [][]*x509.Certificate{{certificate}}
	caller, err := known.Authenticate(r)
	require.NoError(t, err)
	assert.Equal(t, auth.ByCertificate, caller.Auth)
	assert.False(t, caller.Rights.None())
}
