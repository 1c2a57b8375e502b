package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/roundsman/roundsman/internal/edge/api/problem"
)

// keysEvery limits fetches: anyone can send a token with an unknown key id.
const keysEvery = 5 * time.Second

const mostKeysBytes = 1 << 20

var errUnreachable = errors.New("the identity provider does not answer")

func unreachable(err error) *problem.Problem {
	return problem.New(http.StatusServiceUnavailable, "ISSUER_UNREACHABLE", err.Error()).
		With("try again in a few seconds; check access.oidc.issuer and the provider")
}

// issuerKeys fetches the provider's keys at most once per keysEvery.
type issuerKeys struct {
	keys *oidc.RemoteKeySet
	next http.RoundTripper
	now  func() time.Time

	mu      sync.Mutex
	fetched time.Time
	body    []byte
	fault   error
}

func newIssuerKeys(client *http.Client, url string, now func() time.Time) *issuerKeys {
	k := &issuerKeys{next: client.Transport, now: now}
	if k.next == nil {
		k.next = http.DefaultTransport
	}
	limited := &http.Client{Transport: k, Timeout: client.Timeout}
	k.keys = oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), limited), url)
	return k
}

// RoundTrip implements http.RoundTripper.
func (k *issuerKeys) RoundTrip(r *http.Request) (*http.Response, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fetched.IsZero() || k.now().Sub(k.fetched) >= keysEvery {
		k.body, k.fault = k.fetch(r)
		k.fetched = k.now()
	}
	if k.fault != nil {
		return nil, k.fault
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(k.body)), Request: r,
	}, nil
}

func (k *issuerKeys) fetch(r *http.Request) ([]byte, error) {
	response, err := k.next.RoundTrip(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreachable, err)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, mostKeysBytes))
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreachable, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w: its keys have status %s", errUnreachable, response.Status)
	}
	return body, nil
}

type unreachableKey struct{}

// VerifySignature implements oidc.KeySet. The verifier drops the type of an error, so the context passes it.
func (k *issuerKeys) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := k.keys.VerifySignature(ctx, token)
	if fault, is := ctx.Value(unreachableKey{}).(*error); is && errors.Is(err, errUnreachable) {
		*fault = err
	}
	return payload, err //nolint:wrapcheck // the verifier wraps it
}

// The error is errUnreachable if the keys are missing.
func (k *issuerKeys) verified(ctx context.Context, verifier *oidc.IDTokenVerifier, token string) (*oidc.IDToken, error) {
	var fault error
	verified, err := verifier.Verify(context.WithValue(ctx, unreachableKey{}, &fault), token)
	if fault != nil {
		return nil, fault
	}
	return verified, err //nolint:wrapcheck // the caller wraps it
}

func signedBy(declared []string) []string {
	public := []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA}
	return slices.DeleteFunc(slices.Clone(declared), func(name string) bool { return !slices.Contains(public, name) })
}
