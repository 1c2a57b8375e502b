package control

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestTheKeysOfPagesAreKept up to a bound: the page that was read first goes.
func TestTheKeysOfPagesAreKept(t *testing.T) {
	t.Parallel()
	var kept pageKeys
	name := func(i int) string { return string(rune('a' + i)) }
	for i := range keptKeys + 2 {
		kept.keep(name(i), []uint64{uint64(i)})
	}
	_, known := kept.find(name(1))
	assert.False(t, known)
	hashes, known := kept.find(name(2))
	assert.True(t, known)
	assert.Equal(t, []uint64{2}, hashes)
	assert.Len(t, kept.known, keptKeys)
}
