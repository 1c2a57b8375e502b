package cursor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/edge/api/cursor"
	"github.com/roundsman/roundsman/starter"
)

// A run that a backfill has started again is listed twice; its items are those of the newest execution.
func TestASearchPassesRunsThatAreListedTwice(t *testing.T) {
	t.Parallel()
	at := func(id, run string, second int64) starter.Run {
		return starter.Run{RunRef: starter.RunRef{WorkflowID: id, RunID: run}, Started: time.Unix(second, 0).UTC()}
	}
	runs := starter.DistinctRuns([]starter.Run{at("a", "a2", 30), at("x", "x1", 20), at("a", "a1", 10)})
	assert.Len(t, runs, 2)
	items := make([]starter.Item, 0, len(runs))
	for _, run := range runs {
		items = append(items, starter.Item{Run: run.RunRef})
	}
	before := cursor.Runs{}
	whole, next := before.Within(runs, items, 1)
	assert.Equal(t, runs[:1], whole)
	assert.Equal(t, runs[1].Started, next.Until, "the search goes on")
}
