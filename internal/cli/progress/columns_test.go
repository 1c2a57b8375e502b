package progress

import (
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"
	"github.com/stretchr/testify/assert"
)

// TestColumnsFit: a row fits into every width that has room for it, and the text gets the rest.
func TestColumnsFit(t *testing.T) {
	t.Parallel()
	const counts, long = "1000/1000", "it waits for its turn in lane default, which compress_logs has had since this morning, and so on and on"
	for _, width := range []int{50, 60, 80, 100, 140, 300} {
		c := columnsOf(width)
		name := c.name(strings.Repeat("n", 63))
		text := c.text(long, counts)
		used := runewidth.StringWidth(name) + len(counts) + c.bar() + runewidth.StringWidth(text) + 4
		assert.LessOrEqual(t, used, width, "width %d", width)
	}
	c := columnsOf(80)
	assert.Equal(t, "compress_logs", c.name("compress_logs"))
	assert.Equal(t, "it waits for its turn in lane default", c.text("it waits for its turn in lane default", "0/0"), "80 columns are enough to say it")
	unknown := columnsOf(0)
	assert.Equal(t, defaultWidth/5, unknown.bar(), "a width that nobody knows")
}
