package progress

import "github.com/mattn/go-runewidth"

const (
	// widestBar and narrowestBar bound the width of a bar. Between them a bar takes a fifth of the terminal.
	widestBar, narrowestBar = 28, 8
	// shortestText is the least number of columns of the text next to a bar.
	shortestText = 10
	// defaultWidth is the width if the terminal does not report one.
	defaultWidth = 100
)

// The text matters more than the bar and gets the rest, so the bar shrinks first.
type columns struct {
	width         int
	names, counts int
}

func columnsOf(width int) columns {
	if width <= 0 {
		width = defaultWidth
	}
	return columns{width: width}
}

func (c *columns) name(name string) string {
	name = shorten(name, max(c.width/3, shortestText))
	c.names = max(c.names, runewidth.StringWidth(name))
	return name
}

// indented shortens the name of a row below another row.
func (c *columns) indented(name string) string {
	const indent = "  "
	shown := indent + c.name(name)
	c.names = max(c.names, runewidth.StringWidth(shown))
	return shown
}

func (c *columns) bar() int { return min(max(c.width/5, narrowestBar), widestBar) }

func (c *columns) text(text, counts string) string {
	const spaces = 4 // mpb writes a space after each column.
	c.counts = max(c.counts, runewidth.StringWidth(counts))
	return shorten(text, max(c.width-c.names-c.counts-c.bar()-spaces, shortestText))
}
