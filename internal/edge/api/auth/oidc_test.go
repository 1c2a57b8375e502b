package auth_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/edge/api"
)

func (s *site) bearer(t *testing.T, token string) answered {
	t.Helper()
	return s.get(t, api.Prefix+"/me", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) })
}

// An unverified address may belong to somebody else.
func TestAnEmailCountsOnlyIfVerified(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, row := range []struct {
		verified any
		name     string
	}{
		{true, "ann@example.org"},
		{"true", "ann@example.org"},
		{nil, "1234"},
		{false, "1234"},
		{"false", "1234"},
		{"", "1234"},
		{1, "1234"},
	} {
		s.issuer.claims = map[string]any{"email_verified": row.verified}
		assert.Contains(t, s.bearer(t, s.issuer.token(t)).Body.String(), fmt.Sprintf(`"name":%q`, row.name), "email_verified: %v", row.verified)
	}
}

// Tokens with unknown key ids do not flood the provider, and a new key of the provider is found a few
// seconds later.
func TestKeysOfTheIssuerAreFetchedRarely(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i := range 50 {
		s.issuer.header = map[string]any{"kid": fmt.Sprint("odd", i)}
		assert.Equal(t, http.StatusUnauthorized, s.bearer(t, s.issuer.token(t)).Code)
	}
	assert.EqualValues(t, 1, s.issuer.fetched.Load())
	s.issuer.header = nil
	assert.Equal(t, http.StatusOK, s.bearer(t, s.issuer.token(t)).Code)
	s.now = s.now.Add(6 * time.Second)
	s.issuer.header = map[string]any{"kid": "odd"}
	assert.Equal(t, http.StatusUnauthorized, s.bearer(t, s.issuer.token(t)).Code)
	assert.EqualValues(t, 2, s.issuer.fetched.Load())
}

// A caller whose token cannot be checked now may try again.
func TestAnIssuerThatIsAway(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.issuer.away.Store(true)
	token := s.issuer.token(t)
	refused := s.bearer(t, token)
	assert.Equal(t, http.StatusServiceUnavailable, refused.Code)
	assert.Contains(t, refused.Body.String(), "ISSUER_UNREACHABLE")
	assert.Equal(t, http.StatusServiceUnavailable, s.logIn(t, nil).Code)
	for _, foreign := range []string{"eyJ.x.y", "e30.e30.x", "x"} {
		assert.Equal(t, http.StatusUnauthorized, s.bearer(t, foreign).Code, "no token of the issuer: %s", foreign)
	}
	s.issuer.away.Store(false)
	s.now = s.now.Add(6 * time.Second)
	assert.Equal(t, http.StatusOK, s.bearer(t, token).Code)
	s.issuer.Close()
	s.issuer.claims = map[string]any{"iss": "http://127.0.0.1:1"}
	token = s.issuer.token(t)
	assert.Equal(t, http.StatusServiceUnavailable, newSiteAt(t, "http://127.0.0.1:1").bearer(t, token).Code)
}
