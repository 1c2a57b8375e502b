package nodee2e

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// TestARecoveredJobType: a job type failed and completed again. status lists no failure, and a control plane that was
// started after that has the last success.
func TestARecoveredJobType(t *testing.T) {
	t.Parallel()
	s := &site{Site: sites.New(t)}
	control := s.Start("server")
	s.worker("node-a")
	s.AwaitFresh("node-a")
	there := filepath.Join(t.TempDir(), "there")
	s.Apply(sites.Scaled + `job_types:
  nightly:
    handler: command
    schedule: {every: 365d}
    policy: {retries: {limit: 0}}
    detect: {command: [echo, one], format: lines}
    execute: {command: [test, -e, ` + there + `]}
`)
	says := func(text string) {
		t.Helper()
		testsuite.WaitFor(t, time.Minute, "status says "+text, func() bool { return regexp.MustCompile(text).MatchString(s.Command("status")) })
	}
	require.Equal(t, contract.OutcomeFailed, s.Result(s.Begin("nightly")).Outcome)
	says(`FAILED +OUTCOME`)
	require.NoError(t, os.WriteFile(there, nil, 0o600))
	require.Equal(t, contract.OutcomeCompleted, s.Result(s.Begin("nightly")).Outcome)
	says(`nothing is failed: 1 failed run of the last 24h`)

	control.Kill()
	address := sites.FreeAddress(t)
	s.Start("server", "--health-addr", address)
	known := regexp.MustCompile(`\nroundsman_last_success_timestamp_seconds\{job_type="nightly"\} 1\.`)
	testsuite.WaitFor(t, time.Minute, "the last success is known", func() bool {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/metrics", http.NoBody)
		require.NoError(t, err)
		response, err := (&http.Client{}).Do(request)
		if err != nil {
			return false
		}
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return assert.NoError(t, response.Body.Close()) && known.Match(body)
	})
}
