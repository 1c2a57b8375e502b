package ui

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLikelyNames(t *testing.T) {
	t.Parallel()
	names := []string{"failing", "rolling-maintenance", "scrub", "scrub-all", "slow"}
	for word, meant := range map[string]string{
		"rolling": "rolling-maintenance", "slwo": "slow", "scurb": "scrub", "scr": "scrub", "ro": "", "scrub": "", "completely-else": "",
		"slow@bad": "", "scrub/12": "", "scrub:/srv/a": "",
	} {
		assert.Equal(t, meant, likely(word, names), word)
	}
	assert.Empty(t, likely("x", nil))
}
