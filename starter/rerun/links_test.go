package rerun

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestRetriesOfRetriesAreFound in any order: visibility sorts by the end of runs.
func TestRetriesOfRetriesAreFound(t *testing.T) {
	t.Parallel()
	links := []link{{"third", "second"}, {"other", "elsewhere"}, {"second", "first"}, {"first", "run"}, {"twin", "run"}}
	assert.Equal(t, []string{"first", "twin", "second", "third"}, from("run", links))
	assert.Equal(t, []string{"third"}, from("second", links))
	assert.Empty(t, from("twin", links))
}
