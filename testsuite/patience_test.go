package testsuite_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/testsuite"
)

// lasts returns the seconds of a wait of one minute; another minute is its extra time.
func lasts(load float64) (seconds int) {
	p := testsuite.NewPatience(time.Minute)
	p.Load = func() float64 { return load }
	now := time.Now()
	for ; !p.Over(now); seconds++ {
		now = now.Add(time.Second)
	}
	return seconds
}

// A busy machine does less per second, so a wait lasts longer, up to ten times.
func TestPatienceGrowsWithTheLoad(t *testing.T) {
	t.Parallel()
	assert.InDelta(t, 120, lasts(0.1), 2)
	assert.InDelta(t, 120, lasts(1), 2)
	assert.InDelta(t, 480, lasts(4), 5)
	assert.InDelta(t, 1200, lasts(1000), 11)
	assert.Positive(t, testsuite.Load())
}
