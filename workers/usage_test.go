package workers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestUsageIsAddedUp: mean and fullness of each five minutes of the clock, even without a
// change.
func TestUsageIsAddedUp(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 1, 0, 0, time.UTC)
	g := newGate(2, nil)
	g.now, g.past = func() time.Time { return now }, usage{}
	g.pass()
	enter := func() {
		_, passed := g.tryEnter("k", "tidy")
		require.True(t, passed)
	}
	now = now.Add(time.Minute) // 03:02
	enter()
	now = now.Add(time.Minute) // 03:03
	enter()
	now = now.Add(8 * time.Minute) // 03:11
	g.leave("k")
	g.Resize(1)
	now = now.Add(2 * time.Minute) // 03:13
	g.leave("k")
	now = now.Add(time.Minute)
	spans := g.Usage()
	require.Len(t, spans, 3)
	at := func(minute int) time.Time { return time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC) }
	for i, want := range []struct {
		from, to   time.Time
		used, full float64
		slots      int
	}{
		{at(1), at(5), (1 + 2*2) / 4.0, 2 / 4.0, 2},
		{at(5), at(10), 2, 1, 2},
		{at(10), at(14), (2 + 2*1) / 4.0, 3 / 4.0, 1},
	} {
		assert.Equal(t, want.from, spans[i].From)
		assert.Equal(t, want.to, spans[i].To)
		assert.InDelta(t, want.used, spans[i].Used, 1e-9)
		assert.InDelta(t, want.full, spans[i].Full, 1e-9)
		assert.Equal(t, want.slots, spans[i].Slots)
	}
}

// TestUsageIsBounded: twelve hours, with any changes or pauses.
func TestUsageIsBounded(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	u, now := usage{}, began
	for range 3 * 24 * 60 {
		u.pass(now, 1, 4)
		now = now.Add(time.Minute)
	}
	spans := u.told()
	assert.Len(t, spans, usageSpans)
	assert.LessOrEqual(t, cap(u.spans), 2*usageSpans)
	assert.InDelta(t, 1, spans[0].Used, 1e-9)
	now = now.Add(30 * 24 * time.Hour)
	u.pass(now, 3, 4)
	spans = u.told()
	assert.LessOrEqual(t, len(spans), usageSpans+1)
	assert.Equal(t, now, spans[len(spans)-1].To)
	assert.InDelta(t, 3, spans[len(spans)/2].Used, 1e-9)
	u.pass(now.Add(-time.Hour), 3, 4) // A clock that was set back adds nothing.
	assert.Equal(t, now, u.last)
}
