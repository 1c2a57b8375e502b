package admission

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestRepeatsBackOff: a minute, doubling, six hours at most, so that a wait of 90 days
// repeats some hundred times.
func TestRepeatsBackOff(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute}, []time.Duration{NextRepeat(1), NextRepeat(2), NextRepeat(3)})
	assert.Equal(t, time.Minute, NextRepeat(0))
	waited, n := time.Duration(0), 0
	for waited < 90*24*time.Hour {
		n++
		waited += NextRepeat(n)
		assert.LessOrEqual(t, NextRepeat(n), 6*time.Hour)
	}
	assert.Less(t, n, 400)
}
