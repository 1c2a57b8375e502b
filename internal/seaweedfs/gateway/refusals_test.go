package gateway

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestRefusalsAreLoggedOnceAMinute: per host, with a bound on the hosts.
func TestRefusalsAreLoggedOnceAMinute(t *testing.T) {
	t.Parallel()
	log := &refusalLog{last: map[string]time.Time{}}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	assert.True(t, log.due("10.0.0.1:1000", now))
	assert.False(t, log.due("10.0.0.1:1001", now.Add(time.Second)))
	assert.True(t, log.due("10.0.0.2:1000", now.Add(time.Second)))
	assert.True(t, log.due("10.0.0.1:1002", now.Add(time.Minute)))
	for i := range 2 * maxRefusals {
		log.due(fmt.Sprintf("host-%d:1", i), now)
	}
	assert.LessOrEqual(t, len(log.last), maxRefusals)
}
