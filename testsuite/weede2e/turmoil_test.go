package weede2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// TestTwoGatewaysAtOnce: two gateways share one limit. A worker of one is refused by the other, which accepts
// it after its gateway is killed. Each job is done once.
func TestTwoGatewaysAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	admin, stream := sites.FreeAddress(t), sites.FreeAddress(t)
	second := s.Start("gateway", "seaweedfs", "--listen", admin, "--grpc-listen", stream, "--data-dir", filepath.Join(s.Dir, "second"))
	// Jobs that change volumes would take turns: one gateway holds the shell lease of the cluster.
	s.Apply(sites.Scaled + `cluster: {filers: ["127.0.0.1:8888"]}
job_types:
  tables:
    handler: weed-iceberg_maintenance
    schedule: {every: 365d, first_run: scheduled}
    policy: {global_execution_concurrency: 4, per_worker_execution_concurrency: 2}
`)
	tables := func(id string, args ...string) *sites.Process {
		return s.weed(id, append([]string{"-jobType", "iceberg_maintenance", "-found", "12"}, args...)...)
	}
	// None of its jobs ends: a job that ends while its gateway is killed is done twice.
	one := tables("weed-1", "-jobTime", "1h")
	two := tables("weed-2", "-admin", admin, "-gate", s.gate())
	s.AwaitFresh("weed-1", "weed-2")
	stranger := tables("weed-1", "-admin", admin, "-reconnect", "500ms")
	testsuite.WaitFor(t, time.Minute, "the refusal", func() bool {
		return strings.Contains(second.Stderr.String(), "ID_IN_USE")
	})
	ref := s.Begin("tables")
	s.awaitLines(2, "start", one)
	s.awaitLines(2, "start", two)
	assert.Empty(t, stranger.Stdout.String(), "the first one works, however late its heartbeats are")
	s.gateway.Kill()
	s.awaitLines(2, "canceled", one)
	one.Kill()
	s.awaitLines(1, "start", stranger)
	s.openGate()
	result := s.Result(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.Equal(t, 12, result.Counts.Completed)
	assert.Equal(t, 12, len(one.Stdout.With("end"))+len(two.Stdout.With("end"))+len(stranger.Stdout.With("end")))
	assert.LessOrEqual(t, most(one, two, stranger), 4)
}

// TestTheControlPlaneIsAway: jobs continue without a control plane, and end with exact counts when it is back.
func TestTheControlPlaneIsAway(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.apply("global_execution_concurrency: 4, per_worker_execution_concurrency: 4")
	one := s.weed("weed-1", "-found", "8", "-gate", s.gate())
	s.AwaitFresh("weed-1")
	ref := s.Begin("vacuum")
	s.awaitLines(4, "start", one)
	s.control.Kill()
	killed := time.Now()
	s.openGate()
	s.awaitLines(4, "end", one)
	testsuite.WaitFor(t, 2*time.Minute, "the workers to be long OFFLINE for everybody", func() bool { return time.Since(killed) > 30*time.Second })
	require.Len(t, one.Stdout.With("start"), 4, "nobody places the others")
	s.control = s.Start("server")
	result := s.Result(ref)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.Equal(t, 8, result.Counts.Completed)
	assert.Len(t, one.Stdout.With("start"), 8, "what ended meanwhile is not done again")
	assert.Len(t, one.Stdout.With("end"), 8)
	assert.Empty(t, one.Stdout.With("canceled"))
}
