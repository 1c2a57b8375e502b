package trial_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/engine/run/trial"
)

// TestTrialsGrowAndPausesDouble: each trial that was taken doubles the next one; each refusal doubles
// the pause, up to the longest.
func TestTrialsGrowAndPausesDouble(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	var l trial.Load
	for _, size := range []int{2, 4, 8} {
		for taken := false; !taken; taken = l.Left == 0 {
			l.Take(now)
		}
		assert.Equal(t, size, l.Size)
		assert.Equal(t, now.Add(trial.Wait), l.TryAt)
	}
	for _, pause := range []time.Duration{trial.Pause, 2 * trial.Pause, 4 * trial.Pause, 8 * trial.Pause, trial.PauseMost, trial.PauseMost} {
		l.Refuse(1, now)
		l.Refuse(1, now) // One pause for all that is returned together.
		assert.Equal(t, pause, l.Pause)
		assert.Zero(t, l.Size)
		now = l.TryAt
	}
	l.Refuse(1000, now)
	assert.Equal(t, now.Add(500*time.Second), l.TryAt, "two a second over all workers")
}

// TestNoHandlerUsesMoreThanAll: a worker that has become fuller is not tried at once.
func TestNoHandlerUsesMoreThanAll(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	l := trial.Load{Others: 3, Handlers: map[string]int{"a": 3, "b": 1}}
	l.Set(now, 2, now)
	assert.Equal(t, trial.Load{At: now, Others: 2, Handlers: map[string]int{"a": 2, "b": 1}}, l)
	l.Set(now, 0, now)
	assert.Nil(t, l.Handlers)
	l.Set(now, 1, now)
	assert.Equal(t, now.Add(trial.Pause), l.TryAt)
}
