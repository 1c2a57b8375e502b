package rollover_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/engine/run/rollover"
)

// now is any time.
var now = time.Unix(1000, 0)

func young() bool { return true }

func old() bool { return false }

// TestARunThatOnlyWaitsContinuesLater: with a small limit a run without progress would continue as new for
// ever.
func TestARunThatOnlyWaitsContinuesLater(t *testing.T) {
	t.Parallel()
	r := rollover.New(40, 0)
	assert.Zero(t, r.Observe(now, rollover.History{Events: 50}, young))
	assert.False(t, r.Holds(), "nothing has happened since the run began")
	r.Progress()
	r.Observe(now, rollover.History{Events: 39}, young)
	assert.False(t, r.Holds())
	r.Observe(now, rollover.History{Events: 40}, young)
	assert.True(t, r.Holds())
}

// TestADrainThatTakesTooLongIsTriedLater: items may start again, and the hard limit ends that.
func TestADrainThatTakesTooLongIsTriedLater(t *testing.T) {
	t.Parallel()
	r := rollover.New(0, time.Second)
	r.Started(10)
	busy := func(events int) rollover.History { return rollover.History{Events: events, Busy: 2} }
	assert.Zero(t, r.Observe(now, busy(20_000), old), "a long attempt is in flight")
	require.False(t, r.Holds())
	again := r.Observe(now, busy(20_001), young)
	assert.Equal(t, now.Add(rollover.Drain+time.Millisecond), again)
	require.True(t, r.Holds())
	r.Observe(again, busy(20_100), old)
	require.False(t, r.Holds(), "the drain has taken too long")
	r.Observe(again, busy(25_099), young)
	require.False(t, r.Holds())
	r.Observe(again, busy(25_100), young)
	assert.True(t, r.Holds())
	r.Observe(again.Add(time.Minute), busy(rollover.HardEvents), old)
	assert.True(t, r.Holds())
}

// TestSlowAttemptsAreNotDrained: the average decides.
func TestSlowAttemptsAreNotDrained(t *testing.T) {
	t.Parallel()
	r := rollover.New(0, 0)
	r.Progress()
	r.Learn(80 * time.Second)
	r.Learn(0)
	assert.Equal(t, 70*time.Second, r.Mean())
	assert.Zero(t, r.Observe(now, rollover.History{Events: 30_000, Busy: 1}, young))
	assert.False(t, r.Holds())
	r.Observe(now, rollover.History{Events: 30_000}, old)
	assert.True(t, r.Holds(), "nothing is in flight")
}

// TestLargeEventsCount: bytes beyond those of the beginning count as events, and the server's limit is
// never reached.
func TestLargeEventsCount(t *testing.T) {
	t.Parallel()
	r := rollover.New(0, 0)
	r.Progress()
	r.Observe(now, rollover.History{Events: 3, Bytes: 5 << 20}, old)
	assert.False(t, r.Holds(), "the state that the run was given does not count")
	r.Observe(now, rollover.History{Events: 3, Bytes: 15 << 20}, old)
	assert.True(t, r.Holds())

	r = rollover.New(0, 0)
	r.Observe(now, rollover.History{Bytes: 1}, old)
	started := 0
	for ; !r.Holds(); started++ {
		r.Started(1 << 20)
	}
	assert.Less(t, started, 46)
	assert.Greater(t, started, 20)
}
