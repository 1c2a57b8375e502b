package weede2e

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite/realcluster"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// realS3 names the HTTP address of an S3 server of the real cluster that takes requests without keys.
const realS3 = "ROUNDSMAN_TEST_SEAWEEDFS_S3"

// rule expires the objects below expired/.
const rule = `<LifecycleConfiguration><Rule><ID>old</ID><Status>Enabled</Status><Filter><Prefix>expired/</Prefix></Filter>` +
	`<Expiration><Date>2020-01-01T00:00:00Z</Date></Expiration></Rule></LifecycleConfiguration>`

// TestRealLifecycle: an unmodified `weed worker` behind the gateway expires the objects of a bucket.
func TestRealLifecycle(t *testing.T) {
	cluster := realcluster.New(t)
	filer, program, s3 := cluster.Filer(), cluster.Weed(), os.Getenv(realS3)
	if s3 == "" {
		t.Skipf("%s names no S3 server", realS3)
	}
	bucket := fmt.Sprintf("http://%s/rt%d", s3, time.Now().UnixNano())
	send := func(method, path, body string) ([]byte, error) {
		return realcluster.Fetch(t.Context(), method, bucket+path, []byte(body))
	}
	put := func(path, body string) {
		_, err := send(http.MethodPut, path, body)
		require.NoError(t, err)
	}
	put("", "")
	sums := map[string][sha256.Size]byte{}
	for i := range 10 {
		for _, prefix := range []string{"expired", "kept"} {
			path, content := fmt.Sprintf("/%s/%d", prefix, i), fmt.Sprintf("object %d of %s", i, prefix)
			put(path, content)
			sums[path] = sha256.Sum256([]byte(content))
		}
	}
	put("?lifecycle", rule)

	s := &site{Site: sites.New(t), admin: sites.FreeAddress(t), stream: sites.FreeAddress(t)}
	s.control = s.Start("server")
	s.startGateway()
	s.Program(nil, program, "worker", "-admin="+s.admin, "-id=real", "-jobType=s3_lifecycle", "-workingDir="+filepath.Join(s.Dir, "weed"))
	s.AwaitFresh("real")
	s.Apply(fmt.Sprintf("%scluster: {masters: [%q], filers: [%q], s3: [%q]}\njob_types:\n  lifecycle:\n    handler: weed-s3_lifecycle\n    schedule: {every: 365d, first_run: scheduled}\n    policy: {max_runtime: 2m, execution_timeout: 1m}\n",
		sites.Scaled, cluster.Master, filer, s3))
	result := s.Result(s.Begin("lifecycle"))
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.Equal(t, 1, result.Counts.Completed)
	for path, sum := range sums {
		content, err := send(http.MethodGet, path, "")
		if filepath.Dir(path) == "/expired" {
			assert.ErrorContains(t, err, "404", path)
			continue
		}
		if assert.NoError(t, err) {
			assert.Equal(t, sum, sha256.Sum256(content), path)
		}
	}
}
