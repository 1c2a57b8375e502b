package progress

import "github.com/mattn/go-runewidth"

const (
	// widestBar and narrowestBar bound the width of a bar itself, without what is
	// next to it; between them it is a fifth of the terminal.
	widestBar, narrowestBar = 28, 8
	// shortestText is how many columns the text next to a bar has at least.
	shortestText = 10
	// defaultWidth is assumed where the terminal does not tell its width.
	defaultWidth = 100
)

// columns shares the width of a terminal out among what a row has: name, counts,
// bar, and a text, which gets the rest. The text says more than the bar, so the
// bar is the first to shrink.
type columns struct {
	width int
	// names and counts are the widest of any row so far.
	names, counts int
}

func columnsOf(width int) columns {
	if width <= 0 {
		width = defaultWidth
	}
	return columns{width: width}
}

// name is what is shown of a row's name.
func (c *columns) name(name string) string {
	name = shorten(name, max(c.width/3, shortestText))
	c.names = max(c.names, runewidth.StringWidth(name))
	return name
}

// indented is the same of a row below another one.
func (c *columns) indented(name string) string {
	const indent = "  "
	shown := indent + c.name(name)
	c.names = max(c.names, runewidth.StringWidth(shown))
	return shown
}

func (c *columns) bar() int { return min(max(c.width/5, narrowestBar), widestBar) }

// text is what is shown of a row's text next to its counts.
func (c *columns) text(text, counts string) string {
	const spaces = 4 // One behind each column; mpb puts them there.
	c.counts = max(c.counts, runewidth.StringWidth(counts))
	return shorten(text, max(c.width-c.names-c.counts-c.bar()-spaces, shortestText))
}
