package ui_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/cli/ui"
)

// TestTimesFarAway: the distance of two times is at most 292 years, and the least one has no positive counterpart.
func TestTimesFarAway(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	assert.Equal(t, "106751d23h", ui.Span(math.MaxInt64))
	assert.Equal(t, "-106751d23h", ui.Span(math.MinInt64))
	assert.Equal(t, "in 106751d23h", ui.Ago(now.AddDate(400, 0, 0), now))
	assert.Equal(t, "106751d23h ago", ui.Ago(now.AddDate(-400, 0, 0), now))
	assert.Equal(t, "-", ui.Ago(time.Time{}, now))
}
