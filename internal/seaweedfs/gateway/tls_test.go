package gateway_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/credentials"

	"github.com/roundsman/roundsman/internal/seaweedfs/gateway"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite/fakeworker"
)

// authority is a CA for the [grpc] section of `security.toml`.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pool        *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{pool: x509.NewCertPool()}
	a.certificate = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "SeaweedFS CA"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	signed := a.sign(t, a.certificate)
	a.key, _ = signed.PrivateKey.(*ecdsa.PrivateKey)
	var err error
	a.certificate, err = x509.ParseCertificate(signed.Certificate[0])
	require.NoError(t, err)
	a.pool.AddCert(a.certificate)
	return a
}

func (a *authority) sign(t *testing.T, template *x509.Certificate) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	signer := a.key
	if signer == nil {
		signer = key
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, signer)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}

func (a *authority) leaf(t *testing.T, name string) tls.Certificate {
	t.Helper()
	return a.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	})
}

type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestTheStreamIsSecured: only a worker with a certificate of the CA joins, as with the sections
// grpc.admin and grpc.worker of weed's security.toml.
func TestTheStreamIsSecured(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t), newAuthority(t)
	log := &lines{}
	gateway, all := serve(t, func(o *gateway.Options) {
		o.Logger = slog.New(slog.NewTextHandler(log, nil))
		o.TLS = &tls.Config{
			Certificates: []tls.Certificate{ca.leaf(t, "admin")}, MinVersion: tls.VersionTLS12,
			ClientCAs: ca.pool, ClientAuth: tls.RequireAndVerifyClientCert,
		}
	})
	for name, config := range map[string]*tls.Config{
		"no TLS":                     nil,
		"no certificate":             {RootCAs: ca.pool, MinVersion: tls.VersionTLS12},
		"a certificate of others":    {RootCAs: ca.pool, MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{other.leaf(t, "worker")}},
		"that does not trust the CA": {RootCAs: other.pool, MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{ca.leaf(t, "worker")}},
	} {
		options := fakeworker.Options{Admin: gateway.Address(), ID: "stranger", JobTypes: []string{"vacuum"}, MaxDetect: 1, MaxExecute: 1, Heartbeat: time.Second, Schema: fakeworker.Descriptor}
		if config != nil {
			options.Credentials = credentials.NewTLS(config)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		err := fakeworker.Once(ctx, options)
		require.Error(t, err, name)
		require.NoError(t, ctx.Err(), "%s: refused at once", name)
		cancel()
	}
	assert.Zero(t, all.count())
	assert.Equal(t, 1, strings.Count(log.String(), "TLS_REFUSED"), "one line a minute for a host: %s", log.String())
	m, _ := connect(t, gateway, all, fakeworker.Options{ID: "w", Detect: oneVolume, Credentials: credentials.NewTLS(&tls.Config{
		RootCAs: ca.pool, MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{ca.leaf(t, "worker")},
	})})
	params := proposalOf(t, m)
	_, err := m.handler(t, "weed-vacuum").Execute(t.Context(), jobtype.Job{ID: "j", Params: params}, &progress{})
	require.NoError(t, err)
}
