package after_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/after"
	"github.com/roundsman/roundsman/jobtype"
)

func rule(within time.Duration) contract.AfterRule {
	return contract.AfterRule{SucceededWithin: jobtype.Duration(within)}
}

func TestAWaitIsMetForGood(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 26, 2, 0, 0, 0, time.UTC)
	w := after.New(map[string]contract.AfterRule{"a": rule(time.Hour), "b": rule(2 * time.Hour)}, start, time.Time{}, 24*time.Hour)
	assert.Equal(t, start, w.Wake(), "it looks at once")
	w.Known(map[string]time.Time{"a": start.Add(-time.Hour), "b": start.Add(-2*time.Hour - 1), "c": start}, start)
	assert.Equal(t, []string{"b"}, w.Unmet(), "a success of exactly that age counts")
	w.Success("b", start.Add(-3*time.Hour))
	assert.Equal(t, []string{"b"}, w.Unmet(), "an older success changes nothing")
	w.Success("b", start.Add(20*time.Hour))
	assert.Empty(t, w.Unmet(), "a is met as of the start")
}

// TestAWaitOfAMonthLooksRarely: its lookups do not grow with the time.
func TestAWaitOfAMonthLooksRarely(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 2, 0, 0, 0, time.UTC)
	w := after.New(map[string]contract.AfterRule{"a": rule(time.Hour)}, now, time.Time{}, 30*24*time.Hour)
	for !w.Over(now) {
		if now = w.Wake(); !w.Over(now) {
			w.Known(nil, now)
		}
	}
	assert.Less(t, w.Looks, 30*24+10)
	assert.Equal(t, 10*time.Second, w.Since.Add(30*24*time.Hour).Sub(now), "the next tick finds no open run")
}

// TestALateRunEndsBeforeTheNextTick: the control plane was away for twenty minutes at the tick.
func TestALateRunEndsBeforeTheNextTick(t *testing.T) {
	t.Parallel()
	tick := time.Date(2026, 11, 26, 3, 0, 0, 0, time.UTC)
	late := tick.Add(20 * time.Minute)
	needs := map[string]contract.AfterRule{"a": rule(time.Hour)}
	w := after.New(needs, late, tick, 24*time.Hour)
	assert.Equal(t, tick.Add(24*time.Hour-10*time.Second), w.Until)
	w = after.New(needs, tick.Add(25*time.Hour), tick, 24*time.Hour)
	assert.Equal(t, tick.Add(49*time.Hour-10*time.Second), w.Until, "a backfill waits, too")
}

func TestATickIsNotDueAfterAYoungSuccess(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 2, 0, 0, 0, time.UTC)
	assert.Equal(t, now.Add(time.Hour), after.NotDueUntil(now.Add(-23*time.Hour), 24*time.Hour, now))
	assert.Zero(t, after.NotDueUntil(now.Add(-24*time.Hour), 24*time.Hour, now))
	assert.Zero(t, after.NotDueUntil(time.Time{}, 24*time.Hour, now), "it has never succeeded")
	assert.Zero(t, after.NotDueUntil(now, 0, now), "the setting is absent")
}

func TestCycle(t *testing.T) {
	t.Parallel()
	assert.Nil(t, after.Cycle(map[string][]string{"a": {"b", "c"}, "b": {"d"}, "c": {"d"}}))
	assert.Equal(t, "b -> c -> b", after.Text(after.Cycle(map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"b"}})))
	assert.Equal(t, "a -> a", after.Text(after.Cycle(map[string][]string{"a": {"a"}})))
}
