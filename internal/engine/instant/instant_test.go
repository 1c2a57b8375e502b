package instant_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/engine/instant"
)

func TestZeroIsNever(t *testing.T) {
	t.Parallel()
	first := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
	second := first.Add(time.Second)
	for _, pair := range [][2]time.Time{{first, second}, {second, first}} {
		assert.Equal(t, first, instant.Earlier(pair[0], pair[1]))
		assert.Equal(t, second, instant.Later(pair[0], pair[1]))
	}
	for _, pair := range [][2]time.Time{{first, {}}, {{}, first}} {
		assert.Equal(t, first, instant.Earlier(pair[0], pair[1]))
		assert.Equal(t, first, instant.Later(pair[0], pair[1]))
	}
	assert.True(t, instant.Earlier(time.Time{}, time.Time{}).IsZero())
}
