package testsuite

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// machine has CPUs that are idle for a percentage of each second.
type machine struct {
	now   time.Time
	times cpuTimes
}

func (m *machine) seconds(n int, percent int64, each func()) {
	for range n {
		m.now = m.now.Add(time.Second)
		m.times.all += 100
		m.times.idle += percent
		each()
	}
}

func (m *machine) idle(window time.Duration, share float64) *Idle {
	return &Idle{window: window, share: share, read: func() cpuTimes { return m.times }, clock: func() time.Time { return m.now }}
}

func TestIdle(t *testing.T) {
	t.Parallel()
	m := &machine{now: time.Unix(0, 0)}
	idle := m.idle(3*time.Second, 0.3)
	var said []bool
	ask := func() { said = append(said, idle.Now()) }
	m.seconds(4, 20, ask)
	assert.Equal(t, []bool{false, false, false, false}, said, "busy")
	said = nil
	m.seconds(9, 50, ask)
	// The window of the first has a busy second; after each true, a new window begins.
	assert.Equal(t, []bool{false, true, false, false, false, true, false, false, false}, said)
	m.seconds(10, 90, func() {})
	assert.False(t, idle.Now(), "nothing is known of a time in which nobody asked")
	assert.False(t, idle.Now(), "asked twice in a second")
}

func TestIdleWithoutMeasurements(t *testing.T) {
	t.Parallel()
	m := &machine{now: time.Unix(0, 0)}
	idle := m.idle(time.Second, 0)
	idle.read = func() cpuTimes { return cpuTimes{} }
	m.seconds(5, 100, func() { assert.False(t, idle.Now()) })
}

func TestSlots(t *testing.T) {
	t.Parallel()
	m := &machine{now: time.Unix(0, 0)}
	s := slots{idle: m.idle(2*time.Second, 0.3), held: map[string]bool{}}
	assert.True(t, s.take("A/x", 2))
	assert.True(t, s.take("B", 2))
	assert.True(t, s.take("B", 2), "a second server")
	assert.True(t, s.take("B/sub", 2), "its parent has a slot")
	assert.False(t, s.take("A/y", 2), "a sibling")
	assert.False(t, s.take("BB", 2), "only the begin of its name is that of another")
	m.seconds(2, 10, func() { assert.False(t, s.take("C", 2), "busy") })
	m.seconds(1, 90, func() { assert.True(t, s.take("C", 2), "idle") })
	m.seconds(1, 90, func() { assert.False(t, s.take("D", 2), "the load of the one before is not known yet") })
	s.free("A/x")
	assert.False(t, s.take("D", 2), "two have a slot")
	s.free("C")
	assert.True(t, s.take("D", 2))
}
