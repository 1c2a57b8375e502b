package runs

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

// TestWatchSaysWhatItDoesNotFollow: watch fails then, also if all runs that it follows complete.
func TestWatchSaysWhatItDoesNotFollow(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	c := &commands{&ui.Program{Env: ui.Env{Stderr: &stderr}}}
	assert.Len(t, c.bounded(make([]starter.Run, maxWatched)), maxWatched)
	assert.NoError(t, c.Whole(nil))
	assert.Len(t, c.bounded(make([]starter.Run, maxWatched+1)), maxWatched)
	assert.Contains(t, stderr.String(), "more than 20 runs are open")
	for _, err := range []error{nil, ui.Silent(ui.ExitWarning)} {
		assert.Equal(t, ui.ExitFailed, c.Env.Finish(t.Context(), c.Whole(err)))
	}
}
