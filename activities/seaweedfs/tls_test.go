package seaweedfs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/credentials"

	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
	"github.com/roundsman/roundsman/testsuite/fakecluster"
)

// authority is a cluster's CA, with the files that weed's security.toml names.
type authority struct {
	t           *testing.T
	dir         string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a CA"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.certificate = template
	pair := a.leaf("ca", template)
	a.key, _ = pair.PrivateKey.(*ecdsa.PrivateKey)
	a.certificate = pair.Leaf
	return a
}

// leaf signs a certificate and writes NAME.crt and NAME.key.
func (a *authority) leaf(name string, template *x509.Certificate) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	signer := a.key
	if signer == nil {
		signer = key
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, signer)
	require.NoError(a.t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(a.t, err)
	for file, block := range map[string]*pem.Block{name + ".crt": {Type: "CERTIFICATE", Bytes: raw}, name + ".key": {Type: "PRIVATE KEY", Bytes: secret}} {
		require.NoError(a.t, os.WriteFile(a.file(file), pem.EncodeToMemory(block), 0o600))
	}
	pair, err := tls.LoadX509KeyPair(a.file(name+".crt"), a.file(name+".key"))
	require.NoError(a.t, err)
	return pair
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

func (a *authority) member(name string, addresses ...net.IP) tls.Certificate {
	return a.leaf(name, &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), IPAddresses: addresses})
}

// secured serves a cluster that accepts only clients with a certificate of ca.
func secured(t *testing.T, ca *authority, server tls.Certificate) *fixture {
	t.Helper()
	f := &fixture{Cluster: fakecluster.New(nil), t: t, servers: []string{"127.0.0.1:8080"}}
	f.Add(fakecluster.Server{Address: f.servers[0], Max: 10})
	f.Put(fakecluster.Volume{ID: 7, Objects: 10, Deleted: 5, ObjectSize: 1000}, f.servers[0])
	pool := x509.NewCertPool()
	pool.AddCert(ca.certificate)
	running, err := f.Serve(fakecluster.Options{Credentials: credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{server}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	})})
	require.NoError(t, err)
	t.Cleanup(running.Stop)
	f.handlers = f.process(weed.KeeperOptions{Linger: 10 * time.Millisecond})
	f.use(running.Master, weed.TLS{CA: ca.file("ca.crt"), Cert: ca.file("worker.crt"), Key: ca.file("worker.key")})
	return f
}

func (f *fixture) use(master string, files weed.TLS) {
	f.t.Helper()
	var err error
	f.block, err = json.Marshal(weed.Spec{Masters: []string{master}, TLS: &files})
	require.NoError(f.t, err)
}

func (f *fixture) spec() weed.Spec {
	f.t.Helper()
	spec, err := ReadSpec(f.block)
	require.NoError(f.t, err)
	return spec
}

// TestMutualTLS: a job connects to the master and the volume servers only with certificates of the cluster's
// CA, and errors name the fault. A server that refuses the client often closes the connection without a reason,
// and then the fix names cluster.tls.
func TestMutualTLS(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t), newAuthority(t)
	ca.member("worker")
	other.member("worker")
	ca.leaf("old", &x509.Certificate{SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: "worker"}, NotAfter: time.Now().Add(-time.Hour)})
	f := secured(t, ca, ca.member("master", net.IPv4(127, 0, 0, 1)))

	found := f.detect("vacuum", `{}`)
	require.Len(t, found, 1)
	require.NoError(t, f.execute(t.Context(), "vacuum", `{}`, found[0]).Err)
	probes := clusterUser{}.ProbeCluster(t.Context(), f.block)
	require.Len(t, probes, 1)
	assert.Equal(t, "knows 1 volume servers", probes[0].Found)

	good := f.spec()
	for name, bad := range map[string]struct {
		files weed.TLS
		want  string
	}{
		"the CA is another one":           {weed.TLS{CA: other.file("ca.crt"), Cert: good.TLS.Cert, Key: good.TLS.Key}, "certificate signed by unknown authority"},
		"any name, and another CA":        {weed.TLS{CA: other.file("ca.crt"), Cert: good.TLS.Cert, Key: good.TLS.Key, AnyName: true}, "certificate signed by unknown authority"},
		"the certificate is another CA's": {weed.TLS{CA: good.TLS.CA, Cert: other.file("worker.crt"), Key: other.file("worker.key")}, "CERTIFICATE_OF_ANOTHER_CA"},
		"the certificate has expired":     {weed.TLS{CA: good.TLS.CA, Cert: ca.file("old.crt"), Key: ca.file("old.key")}, "CERTIFICATE_EXPIRED"},
		"no certificate":                  {weed.TLS{CA: good.TLS.CA}, "CERTIFICATE_MISSING"},
		"no such file":                    {weed.TLS{CA: "/no/ca.crt"}, "cluster.tls.ca: open /no/ca.crt"},
	} {
		t.Run(name, func(t *testing.T) {
			f.use(good.Masters[0], bad.files)
			refused := jobtypetest.Detect(t.Context(), f.handlers["vacuum"], f.input(`{}`))
			require.ErrorContains(t, refused.Err, bad.want)
			for _, probed := range f.probeBoth() {
				assert.Contains(t, probed.Found, bad.want, probed.Name)
				assert.Contains(t, probed.Fix, "cluster.tls", probed.Name)
			}
		})
	}
}

// probeBoth probes the master, and a filer at the same address.
func (f *fixture) probeBoth() []jobtype.ClusterProbe {
	f.t.Helper()
	spec := f.spec()
	spec.Filers = spec.Masters
	block, err := json.Marshal(spec)
	require.NoError(f.t, err)
	probes := clusterUser{}.ProbeCluster(f.t.Context(), block)
	require.Len(f.t, probes, 2)
	return probes
}

// TestOneSideHasNoTLS: the probe names the side.
func TestOneSideHasNoTLS(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	ca.member("worker")
	f := secured(t, ca, ca.member("master", net.IPv4(127, 0, 0, 1)))
	block, err := json.Marshal(weed.Spec{Masters: f.spec().Masters})
	require.NoError(t, err)
	assert.Contains(t, clusterUser{}.ProbeCluster(t.Context(), block)[0].Found, "TLS_REQUIRED")
	plain := newFixture(t, 1, weed.KeeperOptions{})
	plain.use(plain.spec().Masters[0], *f.spec().TLS)
	for _, probed := range plain.probeBoth() {
		assert.Contains(t, probed.Found, "TLS_NOT_OFFERED", probed.Name)
	}
	f.block = block
	for one, want := range map[*fixture]string{f: "TLS_REQUIRED", plain: "TLS_NOT_OFFERED"} {
		refused := jobtypetest.Detect(t.Context(), one.handlers["vacuum"], one.input(`{}`))
		require.ErrorContains(t, refused.Err, want)
	}
}

// TestCertificatesWithoutAName: weed's own guide makes such certificates.
func TestCertificatesWithoutAName(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	ca.member("worker")
	f := secured(t, ca, ca.member("master01"))
	refused := jobtypetest.Detect(t.Context(), f.handlers["vacuum"], f.input(`{}`))
	require.ErrorContains(t, refused.Err, "CERTIFICATE_OF_ANOTHER_NAME")
	assert.Contains(t, clusterUser{}.ProbeCluster(t.Context(), f.block)[0].Found, "CERTIFICATE_OF_ANOTHER_NAME")
	good := f.spec()
	good.TLS.AnyName = true
	f.use(good.Masters[0], *good.TLS)
	require.Len(t, f.detect("vacuum", `{}`), 1)
}
