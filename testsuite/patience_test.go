package testsuite

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestSlackGrowsWithTheLoad(t *testing.T) {
	t.Parallel()
	for load, want := range map[float64]int{0: 4, 0.9: 4, 1.5: 6, 5: 20, 100: 20} {
		assert.InDelta(t, want, slack(4*time.Second, load).Seconds(), 0.001, "load %v", load)
	}
	assert.GreaterOrEqual(t, Slack(time.Second), time.Second)
}
