package clock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/engine/run/group/clock"
	"github.com/roundsman/roundsman/jobtype"
)

var now = time.Date(2026, 11, 27, 2, 0, 0, 0, time.UTC)

func policy() jobtype.Policy {
	return jobtype.Policy{MaxRuntime: jobtype.Duration(time.Hour), DrainGrace: jobtype.Duration(time.Minute)}
}

// TestAPauseBeforeTheTurnDoesNotCount: max_runtime begins with the turn.
func TestAPauseBeforeTheTurnDoesNotCount(t *testing.T) {
	t.Parallel()
	c := clock.New(now)
	c.Begin(now.Add(10*time.Minute), policy())
	c.Resume(now, now.Add(15*time.Minute), policy())
	assert.Equal(t, 5*time.Minute, c.PausedFor)
	assert.Equal(t, now.Add(75*time.Minute), c.Deadline)
	assert.Equal(t, c.Deadline, c.HardStop)
}

func TestAnotherTurnHasAllItsTime(t *testing.T) {
	t.Parallel()
	c := clock.New(now)
	assert.Equal(t, now, c.From())
	c.Begin(now.Add(time.Minute), policy())
	c.Resume(now.Add(2*time.Minute), now.Add(3*time.Minute), policy())
	c.DrainOver = true
	c.Begin(now.Add(2*time.Hour), policy())
	assert.Equal(t, now.Add(3*time.Hour), c.Deadline)
	assert.False(t, c.DrainOver)
	assert.Equal(t, now.Add(time.Minute), c.From())
}

func TestTheWindowMayCloseBefore(t *testing.T) {
	t.Parallel()
	c := clock.New(now)
	c.Begin(now, policy())
	assert.Equal(t, time.Hour, c.Left(time.Time{}, now))
	assert.Equal(t, time.Minute, c.Left(now.Add(time.Minute), now))
	assert.Equal(t, time.Hour, c.Left(now.Add(2*time.Hour), now))
}

func TestAttemptsDrainAfterTheDeadline(t *testing.T) {
	t.Parallel()
	c, p := clock.New(now), policy()
	p.OnDeadline = jobtype.DeadlineDrain
	c.Bound(p)
	assert.Equal(t, c.Deadline.Add(time.Minute), c.HardStop)
}
