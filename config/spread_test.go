package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

func TestSpread(t *testing.T) {
	t.Parallel()
	with := func(schedule string) string { return strings.Replace(minimal, "{every: 5m}", schedule, 1) }
	of := func(schedule string) jobtype.Duration {
		t.Helper()
		return mustLoad(t, with(schedule)).JobTypes["tidy"].Schedule.Offset
	}
	interval := jobtype.Duration(5 * time.Minute)
	assert.NotZero(t, of("{every: 5m}"))
	assert.Equal(t, contract.SpreadOffset("tidy", interval), of("{every: 5m}"))
	assert.Equal(t, of("{every: 5m}"), of("{every: 5m, spread: name}"))
	assert.Zero(t, of("{every: 5m, spread: none}"))
	assert.Zero(t, of("{every: 5m, offset: 0s}"))
	assert.Equal(t, jobtype.Duration(time.Second), of("{every: 5m, offset: 1s}"))
	for schedule, fault := range map[string]string{
		"{every: 5m, spread: often}":            `"often" is none of the ways: use name or none`,
		"{every: 5m, spread: name, offset: 1s}": "is written together with offset",
		`{cron: "0 2 * * *", spread: none}`:     "has no meaning for cron",
	} {
		assert.Contains(t, strings.Join(faults(t, with(schedule), nil), "\n"), fault, schedule)
	}
}
