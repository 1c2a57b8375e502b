package doctor

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOlderThan(t *testing.T) {
	t.Parallel()
	assert.True(t, olderThan("1.28.4", "1.29"))
	assert.False(t, olderThan("1.29.0", "1.29"))
	assert.False(t, olderThan("2.0.0", "1.29"))
	assert.False(t, olderThan("", "1.29"))
}
