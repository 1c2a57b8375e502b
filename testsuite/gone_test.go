package testsuite

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// complaints is a test that records its failures.
type complaints struct {
	testing.TB

	said []string
}

func (c *complaints) Errorf(format string, args ...any) {
	c.said = append(c.said, fmt.Sprintf(format, args...))
}

func TestGoneWithin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		since time.Duration
		told  int
		fails bool
	}{{0, 0, false}, {0, 2, false}, {-time.Hour, 0, false}, {-time.Hour, 1, true}} {
		left := c.told
		complains := &complaints{TB: t}
		GoneWithin(complains, time.Now().Add(c.since), 30*time.Second, "it", func() bool {
			left--
			return left >= 0
		})
		assert.Equal(t, c.fails, len(complains.said) > 0, "%+v: %v", c, complains.said)
	}
}

// A slow answer shows a busy machine, and nothing about the thing checked.
func TestGoneWithinOnAnOverloadedMachine(t *testing.T) {
	t.Parallel()
	complains, asked := &complaints{TB: t}, 0
	GoneWithin(complains, time.Now().Add(-3*time.Second), 2*time.Second, "it", func() bool {
		asked++
		<-time.After(500 * time.Millisecond)
		return asked < 2
	})
	assert.Empty(t, complains.said)
}

// With five runnable threads per core a second counts a fifth.
func TestGoneWithinCountsTimeAsOnAnIdleMachine(t *testing.T) {
	t.Parallel()
	for load, fails := range map[float64]bool{1: true, 5: false} {
		complains, asked := &complaints{TB: t}, 0
		counted := &Patience{at: time.Now().Add(-6 * time.Second), Load: func() float64 { return load }}
		goneWithin(complains, counted, 2*time.Second, "it", func() bool {
			asked++
			return asked < 2
		})
		assert.Equal(t, fails, len(complains.said) > 0, "%v: %v", load, complains.said)
	}
}
