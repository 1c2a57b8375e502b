package config_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAfterIsChecked(t *testing.T) {
	t.Parallel()
	for after, want := range map[string]string{
		"dumb: {succeeded_within: 24h}":  `there is no job type "dumb": did you mean "dump"?`,
		"dump: {}":                       "write {succeeded_within: 24h}",
		"dump: {succeeded_within: 10ms}": "out of range",
		"copy: {succeeded_within: 24h}":  "the job types wait for each other: copy -> copy",
		"list: {succeeded_within: 24h}":  "the job types wait for each other: copy -> list -> copy",
	} {
		_, err := load(`
version: 1
job_types:
  dump: {handler: plain, schedule: {every: 24h}}
  copy: {handler: plain, schedule: {every: 24h}, after: {` + after + `}}
  list: {handler: plain, schedule: {every: 24h}, after: {copy: {succeeded_within: 24h}}}
`)
		require.ErrorContains(t, err, want, after)
	}
}

func TestAnAwaitedTypeKnowsItsWaiters(t *testing.T) {
	t.Parallel()
	loaded, err := load(`
version: 1
job_types:
  dump: {handler: plain, schedule: {every: 24h}, run_if_not_succeeded_for: 24h}
  copy: {handler: plain, schedule: {every: 24h}, after: {dump: {succeeded_within: 24h}}}
`)
	require.NoError(t, err)
	require.Len(t, loaded.Warnings, 1)
	assert.Contains(t, loaded.Warnings[0].Message, "every second tick is skipped")
	specs, err := loaded.Specs()
	require.NoError(t, err)
	assert.Equal(t, []string{"copy"}, specs[1].AwaitedBy)
	assert.Empty(t, specs[0].AwaitedBy)
}
