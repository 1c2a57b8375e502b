package cli

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter/calendar"
)

// The ticks of `crowded` are dropped, because its one job runs longer than the interval.
const calendarConfig = `version: 1
lanes: {default: {}}
job_types:
  quick:
    handler: command
    lane: default
    schedule: {every: 10s, offset: 7s}
    detect: {command: [printf, 'a\n'], format: lines}
    execute: {command: [echo, done]}
  crowded:
    handler: command
    lane: default
    schedule: {every: 10s, offset: 0s}
    detect: {command: [printf, 'a\n'], format: lines}
    execute: {command: [sleep, "15"]}
`

// TestForecastAndLedger: the ledger later records the forecast outcomes.
func TestForecastAndLedger(t *testing.T) {
	t.Parallel()
	h := alone(t)
	h.background("server", "--log-level", "error")
	h.background("worker", "--id", "node-a", "--data-dir", t.TempDir(), "--log-level", "error", "--drain-timeout", "0s")
	h.eventually("node-a", "workers", "list", "--online")
	h.run("apply", "-c", h.write(calendarConfig)).OK()
	ledgerOf := func(name string) calendar.Ledger {
		var found calendar.Ledger
		o := h.run("ledger", "--job-type", name, "--days", "1", "--limit", "0", "--output", "json")
		require.Equal(t, ui.ExitOK, o.Code, o.Stderr)
		require.NoError(t, json.Unmarshal([]byte(o.Stdout), &found))
		return found
	}
	require.Eventually(t, func() bool {
		quick, crowded := ledgerOf("quick"), ledgerOf("crowded")
		return quick.Counts[contract.TickRan] >= 2 && crowded.Counts[contract.TickRan] >= 1 && dropped(crowded) >= 1
	}, 2*time.Minute, time.Second)
	for _, tick := range ledgerOf("quick").Ticks {
		assert.NotEqual(t, contract.TickMissed, tick.State, "%+v", tick)
		assert.True(t, tick.State != contract.TickSkipped || tick.Code != "", "%+v", tick)
	}
	var told calendar.Forecast
	o := h.run("forecast", "--days", "1", "--limit", "0", "--output", "json")
	require.Equal(t, ui.ExitOK, o.Code, o.Stderr)
	require.NoError(t, json.Unmarshal([]byte(o.Stdout), &told))
	require.Len(t, told.Types, 2)
	assert.Equal(t, "crowded", told.Types[0].JobType)
	assert.Positive(t, told.Types[0].Of, "the run time of its ended run is known")
	assert.InDelta(t, 8640, told.Types[0].Due, 1)
	assert.InDelta(t, told.Types[0].Runs, told.Types[0].Skipped, 2, "every other tick finds the run before open")
	assert.InDelta(t, 8640, told.Types[1].Due, 1)
	assert.Contains(t, h.run("forecast", "--job-type", "quick").Stdout, string(contract.CodeLaneBusy), "both are in one lane")
	assert.Contains(t, h.run("forecast", "--job-type", "crowded").Stdout, string(contract.CodeOverlap))
	assert.Contains(t, h.run("ledger", "--dropped", "--job-type", "crowded").Stdout, string(contract.CodeOverlap))
	o = h.run("ledger", "--days", "8")
	assert.Equal(t, ui.ExitUsage, o.Code)
}

func dropped(found calendar.Ledger) int {
	n := 0
	for _, tick := range found.Ticks {
		if tick.Code == contract.CodeOverlap {
			n++
		}
	}
	return n
}
