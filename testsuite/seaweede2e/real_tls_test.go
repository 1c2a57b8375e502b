package seaweede2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/testsuite/realcluster"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// TestRealMutualTLS: worker and doctor work on a real cluster with mTLS. With a wrong certificate both report
// the reason.
func TestRealMutualTLS(t *testing.T) {
	cluster := realcluster.Secured(t)
	s := &realSite{Site: sites.New(t), Cluster: cluster, t: t}
	s.Grow(3, "000", s.Servers()[0])
	s.Write(90, 60_000, "000")
	s.Heartbeat()
	s.Verify()
	s.Start("server")
	s.worker()
	jobs := "job_types:\n"
	handlers := []struct{ name, params string }{
		{"vacuum", "garbage_threshold: 0.0001"},
		{"volume_balance", "imbalance_threshold: 0.01"},
		{"erasure_coding", "quiet_for_seconds: 0, fullness_ratio: 0, min_size_mb: 1"},
	}
	for _, h := range handlers {
		jobs += fmt.Sprintf("  %s:\n    handler: %s\n    schedule: {every: 365d, first_run: scheduled}\n    policy: {retry_limit: 0}\n    params: {collection_filter: \"^%s$\", %s}\n", h.name, h.name, s.Collection, h.params)
	}
	block := func(files *weed.TLS) string {
		text, err := json.Marshal(weed.Spec{Masters: []string{s.Master}, TLS: files})
		require.NoError(t, err)
		return sites.Scaled + "cluster: " + string(text) + "\n" + jobs
	}
	doctor := func(config string) string {
		require.NoError(t, os.WriteFile(s.File(), []byte(config), 0o600))
		p := s.Start("doctor", "--output", "json")
		p.Code(t, time.Minute)
		return p.Stdout.String() + p.Stderr.String()
	}

	s.Apply(block(s.TLS))
	assert.Contains(t, doctor(block(s.TLS)), "knows 4 volume servers")
	for _, h := range handlers {
		result := s.Result(s.Begin(h.name))
		assert.Equal(t, contract.OutcomeCompleted, result.Outcome, h.name)
		assert.NotZero(t, result.Counts.Completed, h.name)
		s.Heartbeat()
		s.Verify()
		s.Whole()
		t.Logf("%s over mTLS: %d jobs", h.name, result.Counts.Completed)
	}

	cert, key := stranger(t)
	for what, bad := range map[string]struct {
		files *weed.TLS
		want  string
	}{
		"no TLS":                     {nil, "TLS_REQUIRED"},
		"no certificate":             {&weed.TLS{CA: s.TLS.CA, AnyName: true}, "CERTIFICATE_MISSING"},
		"a certificate of nobody":    {&weed.TLS{CA: s.TLS.CA, Cert: cert, Key: key, AnyName: true}, "CERTIFICATE_OF_ANOTHER_CA"},
		"the servers' CA is another": {&weed.TLS{CA: cert, Cert: s.TLS.Cert, Key: s.TLS.Key, AnyName: true}, "certificate signed by unknown authority"},
		"names are checked":          {&weed.TLS{CA: s.TLS.CA, Cert: s.TLS.Cert, Key: s.TLS.Key}, "CERTIFICATE_OF_ANOTHER_NAME"},
	} {
		found := doctor(block(bad.files))
		assert.Contains(t, found, bad.want, what)
		s.Apply(block(bad.files))
		ref := s.Begin("vacuum")
		assert.NotEqual(t, contract.OutcomeCompleted, s.Result(ref).Outcome, what)
		assert.Contains(t, s.Command("show", ref.WorkflowID), bad.want, what)
		t.Logf("%s: %s", what, bad.want)
	}
	s.Verify()
}

// stranger is a certificate that no CA of the cluster signed.
func stranger(t *testing.T) (cert, key string) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "client"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(secret)
	require.NoError(t, err)
	cert, key = filepath.Join(t.TempDir(), "stranger.crt"), filepath.Join(t.TempDir(), "stranger.key")
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	return cert, key
}
