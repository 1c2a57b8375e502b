package cli

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/testsuite/clitest"
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

// TestPastAndComingStarts: the past later has the outcomes of the forecast.
func TestPastAndComingStarts(t *testing.T) {
	t.Parallel()
	h := alone(t)
	h.background("server", "--log-level", "error")
	h.background("worker", "--id", "node-a", "--data-dir", t.TempDir(), "--log-level", "error", "--drain-timeout", "0s")
	h.eventually("node-a", "workers", "-s", "online")
	h.run("apply", "-c", h.write(calendarConfig)).OK()
	type instant struct {
		State contract.TickState `json:"state"`
		Code  contract.Code      `json:"code"`
		At    time.Time          `json:"at"`
	}
	read := func(key string, args ...string) (all []instant, counts map[string]int) {
		o := h.run(append([]string{"schedule", "--output", "json"}, args...)...).OK()
		counts = map[string]int{}
		for _, tick := range clitest.Decode[map[string][]instant](o)[key] {
			all = append(all, tick)
			counts[string(tick.State)]++
			counts[string(tick.Code)]++
		}
		return all, counts
	}
	require.Eventually(t, func() bool {
		_, quick := read("past", "quick", "--until", "now")
		_, crowded := read("past", "crowded", "--until", "now")
		return quick["ran"] >= 2 && crowded["ran"] >= 1 && crowded[string(contract.CodeOverlap)] >= 1
	}, 2*time.Minute, time.Second)
	past, _ := read("past", "quick", "--until", "now")
	for _, tick := range past {
		assert.NotEqual(t, contract.TickMissed, tick.State, "%+v", tick)
		assert.True(t, tick.State != contract.TickSkipped || tick.Code != "", "%+v", tick)
	}
	edge := past[len(past)-1]
	for _, tick := range past {
		if tick.At.Before(edge.At) {
			edge = tick
		}
	}
	around := edge.At.Format(time.RFC3339)
	alone, _ := read("past", "quick", "--since", around, "--until", edge.At.Add(time.Second).Format(time.RFC3339))
	require.Len(t, alone, 1, "from the instant on, until a second later")
	assert.True(t, alone[0].At.Equal(edge.At))
	before, _ := read("past", "quick", "--until", around)
	assert.Contains(t, before, edge, "a day until the instant")
	tomorrow := time.Now().Add(23 * time.Hour).Format(time.RFC3339)
	next, _ := read("next", "quick", "--since", tomorrow)
	assert.InDelta(t, 8640, len(next), 1, "a day from the instant on")
	next, quick := read("next", "quick", "--since", "now")
	assert.InDelta(t, 8640, len(next), 1)
	assert.Positive(t, quick[string(contract.CodeLaneBusy)], "both are in one lane")
	next, crowded := read("next", "crowded", "--since", "now")
	assert.InDelta(t, 8640, len(next), 1)
	assert.InDelta(t, len(next), 2*crowded["skipped"], 4, "every other tick finds the run before open")
	assert.Positive(t, crowded[string(contract.CodeOverlap)])
	for _, bounds := range [][]string{{"--since", "8d"}, {"--until", "8d"}, {"--since", time.Now().AddDate(0, 0, 8).Format(time.RFC3339)}} {
		h.run(append([]string{"schedule"}, bounds...)...).Exits(ui.ExitUsage).Complains("reach 7 days")
	}
}
