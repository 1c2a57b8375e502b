package testsuite_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/testsuite"
)

// lasts is how many seconds a wait of a minute lasts, one more of which are patience.
func lasts(load float64) (seconds int) {
	p := testsuite.NewPatience(time.Minute)
	p.Load = func() float64 { return load }
	now := time.Now()
	for ; !p.Over(now); seconds++ {
		now = now.Add(time.Second)
	}
	return seconds
}

// A busy machine does less in a second, so a wait lasts longer, up to ten times.
func TestPatienceGrowsWithTheLoad(t *testing.T) {
	t.Parallel()
	assert.InDelta(t, 120, lasts(0.1), 2)
	assert.InDelta(t, 120, lasts(1), 2)
	assert.InDelta(t, 480, lasts(4), 5)
	assert.InDelta(t, 1200, lasts(1000), 11)
	assert.Positive(t, testsuite.Load())
}
