package halt_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/engine/run/group/halt"
	"github.com/roundsman/roundsman/internal/engine/run/group/reasons"
)

func TestAGroupThatLeavesCanStillBeStopped(t *testing.T) {
	t.Parallel()
	var h halt.Halt
	h.Suspend(reasons.Reason{Detail: "closed"})
	assert.False(t, h.Takes(halt.Window), "it comes back")
	assert.True(t, h.Takes(halt.Deadline))
	assert.True(t, h.Stop(halt.Deadline, reasons.Reason{Detail: "over"}), "it was to come back")
	assert.Equal(t, halt.Halt{Cause: halt.Deadline, Why: reasons.Reason{Detail: "over"}}, h)
	assert.False(t, h.Takes(halt.Budget), "the first cause counts")
	assert.True(t, h.OutOfTime())
}

func TestAGroupComesBackAsItWas(t *testing.T) {
	t.Parallel()
	for _, unplaced := range []bool{false, true} {
		var h halt.Halt
		h.Suspend(reasons.Reason{Detail: "closed"})
		h.Leave(unplaced)
		assert.False(t, h.On(), "another turn begins")
		assert.True(t, h.Away)
		h.Return()
		assert.Equal(t, halt.Halt{}, h)
	}
}

func TestAnOpenWindowKeepsTheGroup(t *testing.T) {
	t.Parallel()
	var h halt.Halt
	h.Suspend(reasons.Reason{Detail: "closed"})
	h.Stay()
	assert.Equal(t, halt.Halt{}, h)
}
