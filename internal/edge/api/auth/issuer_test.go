package auth_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// issuer is the test's own identity provider.
type issuer struct {
	*httptest.Server
	key *rsa.PrivateKey
	// claims override those of the next token, header its header.
	claims, header map[string]any
	challenge      string
	// fetched counts the requests for the keys. While away is set they get a 502.
	fetched atomic.Int64
	away    atomic.Bool
	nonce   string
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	is := &issuer{key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{
			"issuer": is.URL, "authorization_endpoint": is.URL + "/auth", "token_endpoint": is.URL + "/token", "jwks_uri": is.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256"},
		})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		is.fetched.Add(1)
		if is.away.Load() {
			http.Error(w, "away", http.StatusBadGateway)
			return
		}
		encode := base64.RawURLEncoding.EncodeToString
		answer(w, map[string]any{"keys": []any{map[string]any{
			"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1", "n": encode(key.N.Bytes()), "e": encode(big.NewInt(int64(key.E)).Bytes()),
		}}})
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if r.PostFormValue("code") != "good" || base64.RawURLEncoding.EncodeToString(sum[:]) != is.challenge {
			http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
			return
		}
		answer(w, map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": is.token(t)})
	})
	is.Server = httptest.NewServer(mux)
	t.Cleanup(is.Close)
	return is
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	text, err := json.Marshal(value)
	if err == nil {
		_, _ = w.Write(text)
	}
}

func (is *issuer) token(t *testing.T) string {
	t.Helper()
	claims := map[string]any{
		"iss": is.URL, "aud": "roundsman", "sub": "1234", "email": "ann@example.org", "email_verified": true, "groups": []string{"sre"},
		"exp": time.Now().Add(time.Minute).Unix(), "iat": time.Now().Unix(), "nonce": is.nonce,
	}
	maps.Copy(claims, is.claims)
	header := map[string]any{"alg": "RS256", "kid": "1", "typ": "JWT"}
	maps.Copy(header, is.header)
	part := func(value any) string {
		text, err := json.Marshal(value)
		require.NoError(t, err)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	signed := part(header) + "." + part(claims)
	if header["alg"] == "none" {
		return signed + "."
	}
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, is.key, crypto.SHA256, sum[:])
	require.NoError(t, err)
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// goTo is the person at the provider. It checks the request of the log-in, and returns the query that
// the browser brings back.
func (is *issuer) goTo(t *testing.T, location string) url.Values {
	t.Helper()
	at, err := url.Parse(location)
	require.NoError(t, err)
	asked := at.Query()
	is.nonce, is.challenge = asked.Get("nonce"), asked.Get("code_challenge")
	require.Equal(t, "S256", asked.Get("code_challenge_method"))
	return url.Values{"state": {asked.Get("state")}, "code": {"good"}}
}
