package access

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/starter/keys"
)

// The stored time may be before the last use, and before the creation of the key.
func TestTheLastUseOfAKeyIsABound(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	assert.Equal(t, "never", lastUse(keys.Key{}, now))
	assert.Equal(t, "at most 25m ago", lastUse(keys.Key{LastUsed: now.Add(-25 * time.Minute)}, now))
}
