package workers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A waiting task has no heartbeat, so it must be answered before it counts as lost.
func TestTheWaitEndsBeforeTheHeartbeatTimeout(t *testing.T) {
	t.Parallel()
	for timeout, maxWait := range map[time.Duration]time.Duration{
		0: gateMaxWait, 30 * time.Second: gateMaxWait, 2 * time.Second: gateMaxWait,
		1500 * time.Millisecond: 750 * time.Millisecond, time.Second: 500 * time.Millisecond,
	} {
		assert.Equal(t, maxWait, maxWaitFor(timeout), "%s", timeout)
	}
}

// A worker without a free slot still accepts tasks of its own queue in order to refuse them: one
// at a time, while not too many wait at its gate.
func TestSlotsOfAFullWorkerTakeItsOwnQueueOnly(t *testing.T) {
	t.Parallel()
	waiting := 0
	s := newSlots(1)
	s.answer("own", func() int { return waiting })
	s.markUsed(s.try("own"))
	assert.Nil(t, s.try("shared"), "others can do what lies there")
	poll := s.try("own")
	require.NotNil(t, poll)
	assert.Nil(t, s.try("own"), "one poll at a time")
	s.markUsed(poll)
	waiting = maxWaiting
	assert.Nil(t, s.try("own"), "enough wait for a slot")
	waiting--
	again := s.try("own")
	require.NotNil(t, again)
	s.release(again)
	s.Hold("own")
	assert.Nil(t, s.try("own"))
}
