package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// paint is how a cell looks on a terminal with colors.
type paint string

// The paints: SGR codes of the sixteen standard colors, which every theme keeps
// readable.
const (
	plain paint = ""
	good  paint = "32"
	bad   paint = "31"
	odd   paint = "33"
	faint paint = "2"
	bold  paint = "1"
)

// apply wraps text; without colors it is left alone.
func (p paint) apply(colors bool, text string) string {
	if !colors || p == plain || text == "" {
		return text
	}
	return "\x1b[" + string(p) + "m" + text + "\x1b[0m"
}

// cell is one field of a table.
type cell struct {
	text  string
	paint paint
}

func text(value string) cell { return cell{text: value} }

func textf(format string, args ...any) cell { return cell{text: fmt.Sprintf(format, args...)} }

// table lines up columns. Values are shown on one line each, whatever is in
// them: a job's message must not break the layout or move the cursor.
type table struct {
	header []string
	rows   [][]cell
	// bare leaves the header out: it was printed before.
	bare bool
}

func newTable(header ...string) *table { return &table{header: header} }

func (t *table) add(cells ...cell) { t.rows = append(t.rows, cells) }

// write prints the table, or empty if it has no rows.
func (t *table) write(w io.Writer, colors bool, empty string) {
	if len(t.rows) == 0 {
		fmt.Fprintln(w, empty)
		return
	}
	widths := make([]int, len(t.header))
	for i, name := range t.header {
		widths[i] = len(name)
	}
	for _, row := range t.rows {
		for i := range row {
			row[i].text = oneLine(row[i].text)
			widths[i] = max(widths[i], runewidth.StringWidth(row[i].text))
		}
	}
	titles := make([]cell, len(t.header))
	for i, name := range t.header {
		titles[i] = cell{text: name, paint: faint}
	}
	if !t.bare {
		writeRow(w, colors, widths, titles)
	}
	for _, row := range t.rows {
		writeRow(w, colors, widths, row)
	}
}

func writeRow(w io.Writer, colors bool, widths []int, row []cell) {
	var line strings.Builder
	for i, c := range row {
		line.WriteString(c.paint.apply(colors, c.text))
		if i < len(row)-1 {
			line.WriteString(strings.Repeat(" ", widths[i]-runewidth.StringWidth(c.text)+2))
		}
	}
	fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
}

// oneLine makes text printable on one line: control characters, which could
// rewrite the terminal, become spaces, and invalid UTF-8 a replacement mark.
func oneLine(text string) string {
	return strings.Join(strings.Fields(printable(text)), " ")
}

// printable makes spaces of control characters.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
}

// shorten cuts text to at most width columns, with an ellipsis.
func shorten(text string, width int) string {
	return runewidth.Truncate(oneLine(text), width, "…")
}

// fields prints name: value lines, for show commands.
type fields struct {
	names  []string
	values []cell
}

func (f *fields) add(name string, value cell) {
	if value.text == "" {
		return
	}
	f.names, f.values = append(f.names, name), append(f.values, value)
}

func (f *fields) write(w io.Writer, colors bool) {
	width := 0
	for _, name := range f.names {
		width = max(width, len(name))
	}
	for i, name := range f.names {
		fmt.Fprintf(w, "%s  %s\n", faint.apply(colors, fmt.Sprintf("%-*s", width, name)), f.values[i].paint.apply(colors, oneLine(f.values[i].text)))
	}
}
