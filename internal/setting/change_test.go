package setting

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
)

func TestPolicyChangeIsLaidOverAPolicy(t *testing.T) {
	t.Parallel()
	change, err := Parse([]string{"retry_limit=3", "max_runtime=1h30m", "interactive=true", "on_deadline=drain"})
	require.NoError(t, err)
	before := jobtype.DefaultPolicy().WithDefaults()
	after, err := change.Over(before)
	require.NoError(t, err)
	want := before
	want.RetryLimit, want.MaxRuntime, want.Interactive, want.OnDeadline = 3, jobtype.Duration(90*time.Minute), true, jobtype.DeadlineDrain
	assert.Equal(t, want, after)

	zero, err := Change{"retry_limit": json.RawMessage("0"), "interactive": json.RawMessage("false")}.Over(after)
	require.NoError(t, err)
	assert.Zero(t, zero.RetryLimit, "a zero counts, unlike in a handler's default policy")
	assert.False(t, zero.Interactive)
}

func TestPolicyChangeRefusesAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Parse([]string{"retry_limt=3", "nonsense=1", "retry_limit=x", "max_runtime=soon", "interactive=perhaps", "=", "on_deadline", "retry_backoff=1s", "retry_backoff=2s"})
	require.Error(t, err)
	for _, want := range []string{
		"retry_limt is no setting of a policy: did you mean retry_limit?", "nonsense is no setting of a policy: use one of detection_timeout, ",
		`retry_limit: "x" is not a number`, `max_runtime: duration "soon"`, `interactive: "perhaps": write true or false`,
		`"on_deadline": write it as SETTING=VALUE`, "retry_backoff is given twice",
	} {
		assert.ErrorContains(t, err, want)
	}

	bad, err := Parse([]string{"retry_limit=999", "on_deadline=never"})
	require.NoError(t, err)
	before := jobtype.DefaultPolicy().WithDefaults()
	_, err = bad.Over(before)
	require.ErrorContains(t, err, "retry_limit: 999 is out of range")
	require.ErrorContains(t, err, "on_deadline")
}
