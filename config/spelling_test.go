package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// One spelling works for job types and DAGs.
func TestPoliciesAreWrittenAsTasksAre(t *testing.T) {
	t.Parallel()
	one := mustLoad(t, minimal+"    policy: {retries: {limit: 3, backoff: 7s, max_backoff: 1m}, timeout: 90s, concurrency: 2, stall_timeout: 1m}\n")
	policy := one.JobTypes["tidy"].Policy
	assert.Equal(t, 3, policy.RetryLimit)
	assert.Equal(t, 7*time.Second, policy.RetryBackoff.Std())
	assert.Equal(t, time.Minute, policy.RetryMaxBackoff.Std())
	assert.Equal(t, 90*time.Second, policy.ExecutionTimeout.Std())
	assert.Equal(t, 2, policy.GlobalExecutionConcurrency)
	assert.Equal(t, time.Minute, policy.StallTimeout.Std())

	other := mustLoad(t, minimal+"    policy: {retry_limit: 3, retry_backoff: 7s, retry_max_backoff: 1m, execution_timeout: 90s, global_execution_concurrency: 2, stall_timeout: 1m}\n")
	specs, err := one.Specs()
	require.NoError(t, err)
	same, err := other.Specs()
	require.NoError(t, err)
	assert.Equal(t, same, specs, "a changed spelling is no change for plan and apply")

	assert.Contains(t, faults(t, minimal+"    policy: {timout: 1m}\n", nil)[0], `policy.timout: unknown key: did you mean "timeout"?`)
	assert.Contains(t, faults(t, minimal+"    policy: {nonsense: 1m}\n", nil)[0], "unknown key: use one of timeout, concurrency, retries, detection_timeout")
	assert.Equal(t, []string{
		"r.yaml:7:24: job_types.tidy.policy.retries.limit: -1 is out of range: use 0 to 100",
		"r.yaml:7:28: job_types.tidy.policy.retries.bakoff: unknown key: did you mean \"backoff\"?",
		"r.yaml:8:7: job_types.tidy.policy.execution_timeout: is written here and at r.yaml:9: keep one of them",
		"r.yaml:10:20: job_types.tidy.policy.concurrency: is text, but must be an integer up to 2147483647",
	}, faults(t, minimal+strings.Join([]string{
		"    policy:", "      retries: {limit: -1, bakoff: 1s}", "      timeout: 1m", "      execution_timeout: 1m", "      concurrency: many", "",
	}, "\n"), nil))
}
