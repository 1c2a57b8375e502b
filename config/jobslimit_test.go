package config_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSettingsThatKeepProposalsInTheGroup bound its jobs. Without them a group may have more.
func TestSettingsThatKeepProposalsInTheGroup(t *testing.T) {
	t.Parallel()
	policy := func(most string) string { return "    policy: {max_jobs_per_detection: " + most + "}\n" }
	for text, key := range map[string]string{
		typeWith("    retry_budget: {per_key: {count: 3}}\n"): "retry_budget.per_key",
		batching("{by: all}"):              "batch",
		typeWith("    detect_on: every\n"): "detect_on: every",
		typeWith("    detect_on: every\n    retry_budget: {per_key: {count: 3}}\n"): "retry_budget.per_key",
	} {
		_, err := load(text + policy("100000"))
		require.NoError(t, err, text)
		_, err = load(text + policy("100001"))
		assert.ErrorContains(t, err, ".policy.max_jobs_per_detection: 100001 is out of range: with "+key+" the group itself must have all proposals: use 1 to 100000, or remove "+key)
		_, err = load(text + policy("1000001"))
		assert.ErrorContains(t, err, "1000001 is out of range: use 1 to 1000000")
	}
	_, err := load(typeWith("    retry_budget: {per_type: {count: 3}}\n" + policy("1000000")))
	require.NoError(t, err)
}
