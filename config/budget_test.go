package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// budgeted is the smallest configuration with that retry budget.
func budgeted(budget string) string {
	return strings.TrimRight(minimal, "\n") + "\n    retry_budget: " + budget + "\n"
}

func TestRetryBudget(t *testing.T) {
	t.Parallel()
	assert.Nil(t, mustLoad(t, minimal).JobTypes["tidy"].RetryBudget)
	loaded := mustLoad(t, budgeted("{per_key: {count: 3}, per_type: {window: 10m, hard_timeout: 2h, disable_for: 1h}}"))
	hour := jobtype.Duration(time.Hour)
	assert.Equal(t, &contract.RetryBudget{
		PerKey:  &contract.RetryBudgetRule{Count: 3, Window: hour, DisableFor: 24 * hour},
		PerType: &contract.RetryBudgetRule{Window: hour / 6, HardTimeout: 2 * hour, DisableFor: hour},
	}, loaded.JobTypes["tidy"].RetryBudget)
	plain, err := mustLoad(t, minimal).Specs()
	require.NoError(t, err)
	stored, err := loaded.Specs()
	require.NoError(t, err)
	assert.NotEqual(t, plain[0].Hash, stored[0].Hash)
	for _, output := range []string{"json", "yaml"} {
		printed, err := loaded.Format(output)
		require.NoError(t, err)
		assert.Equal(t, loaded.JobTypes["tidy"].RetryBudget, mustLoad(t, string(printed)).JobTypes["tidy"].RetryBudget)
	}
}

func TestRetryBudgetFaults(t *testing.T) {
	t.Parallel()
	for budget, want := range map[string]string{
		"{}":                                        "retry_budget: says neither per_key nor per_type: write `per_key:",
		"{per_key: {}}":                             "retry_budget.per_key: sets neither count nor hard_timeout",
		"{per_key: {count: 26}}":                    "retry_budget.per_key.count: 26 is out of range: use 1 to 25",
		"{per_type: {count: -1}}":                   "retry_budget.per_type.count: -1 is out of range: use 1 to 500",
		"{per_key: {count: 3, window: 0s}}":         "retry_budget.per_key.window: 0s is out of range: use 1s to 720h",
		"{per_key: {hard_timeout: 500ms}}":          "retry_budget.per_key.hard_timeout: 500ms is out of range: use 1s to 720h, or 0s for none",
		"{per_key: {hard_timeout: 31d}}":            "retry_budget.per_key.hard_timeout: 744h is out of range: use 0s to 720h",
		"{per_type: {count: 3, disable_for: 366d}}": "retry_budget.per_type.disable_for: 8784h is out of range: use 1s to 8760h",
		"{per_key: {count: many}}":                  "retry_budget.per_key.count: is text",
		"{per_node: {count: 3}}":                    "retry_budget.per_node",
		"3":                                         "retry_budget: is an integer",
	} {
		_, err := load(budgeted(budget))
		require.Error(t, err, budget)
		assert.Contains(t, err.Error(), "job_types.tidy."+want, budget)
		assert.Regexp(t, `^r\.yaml:\d+:\d+: `, err.Error(), budget)
	}
}
