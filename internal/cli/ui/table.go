package ui

import (
	"fmt"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/roundsman/roundsman/internal/lib/lists"
)

// Paint is how a cell looks on a terminal with colors.
type Paint string

// SGR codes of the sixteen standard colors, which every theme keeps readable.
const (
	Plain Paint = ""
	Good  Paint = "32"
	Bad   Paint = "31"
	Odd   Paint = "33"
	Faint Paint = "2"
	Bold  Paint = "1"
)

// Apply wraps text; without colors it is left alone.
func (p Paint) Apply(colors bool, text string) string {
	if !colors || p == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(p) + "m" + text + "\x1b[0m"
}

// Cell is one field of a table.
type Cell struct {
	Text  string
	Paint Paint
	// Cause marks the text of an error. Its end is the cause, so a narrow table cuts its middle.
	Cause bool
}

// Text is an unpainted cell.
func Text(value string) Cell { return Cell{Text: value} }

// Textf is an unpainted cell, formatted.
func Textf(format string, args ...any) Cell { return Cell{Text: fmt.Sprintf(format, args...)} }

// Cause is the cell of an error.
func Cause(message string) Cell { return Cell{Text: message, Cause: true} }

// Table has each value on one line, so that a job's message cannot break the layout or move the cursor.
type Table struct {
	Header []string
	Rows   [][]Cell
	// Bare leaves the header out.
	Bare bool
}

// WideOnly begins the title of a column that only --output wide shows.
const WideOnly = "+"

// NewTable begins a table with these titles.
func NewTable(header ...string) *Table { return &Table{Header: header} }

// Add appends a row.
func (t *Table) Add(cells ...Cell) { t.Rows = append(t.Rows, cells) }

const (
	// columnGap is the gap between columns, lastColumn the least width of the last column.
	columnGap  = 2
	lastColumn = 8
)

// Write prints the table. Beyond width, the last column gives way; 0 is no bound.
func (t *Table) Write(w io.Writer, colors, wide bool, width int) {
	titles := lists.Map(t.Header, func(name string) Cell { return Cell{Text: strings.TrimPrefix(name, WideOnly), Paint: Faint} })
	var rows [][]Cell
	for _, row := range append([][]Cell{titles}, t.Rows...) {
		var shown []Cell
		for i, c := range row {
			if wide || !strings.HasPrefix(t.Header[i], WideOnly) {
				shown = append(shown, Cell{Text: OneLine(c.Text), Paint: c.Paint, Cause: c.Cause})
			}
		}
		rows = append(rows, shown)
	}
	if t.Bare {
		rows = rows[1:]
	}
	widths := columnWidths(rows)
	for _, row := range rows {
		if last := len(row) - 1; width > 0 && last > 0 {
			row[last].Text = row[last].within(max(width-taken(widths[:last]), lastColumn))
		}
		writeRow(w, colors, widths, row)
	}
}

// within returns the text in at most width columns.
func (c Cell) within(width int) string {
	total := runewidth.StringWidth(c.Text)
	if !c.Cause || total <= width {
		return runewidth.Truncate(c.Text, width, "…")
	}
	lead, rest, clauses := strings.Cut(c.Text, ": ")
	if lead += ": "; !clauses || runewidth.StringWidth(lead) > 2*width/3 {
		lead, rest = "", c.Text
	}
	return lead + runewidth.TruncateLeft(rest, total-width+1, "…")
}

func columnWidths(rows [][]Cell) []int {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], runewidth.StringWidth(c.Text))
		}
	}
	return widths
}

func taken(widths []int) (sum int) {
	for _, width := range widths {
		sum += width + columnGap
	}
	return sum
}

func writeRow(w io.Writer, colors bool, widths []int, row []Cell) {
	var line strings.Builder
	for i, c := range row {
		line.WriteString(c.Paint.Apply(colors, c.Text))
		if i < len(row)-1 {
			line.WriteString(strings.Repeat(" ", widths[i]-runewidth.StringWidth(c.Text)+columnGap))
		}
	}
	fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
}

// Shorten cuts text to at most width columns, with an ellipsis.
func Shorten(text string, width int) string {
	return runewidth.Truncate(OneLine(text), width, "…")
}

// Fields prints name: value lines, for show commands.
type Fields struct {
	names  []string
	values []Cell
}

// Add appends a line, unless the value is empty.
func (f *Fields) Add(name string, value Cell) {
	if value.Text == "" {
		return
	}
	f.names, f.values = append(f.names, name), append(f.values, value)
}

func (f *Fields) Write(w io.Writer, colors bool) {
	width := 0
	for _, name := range f.names {
		width = max(width, len(name))
	}
	for i, name := range f.names {
		fmt.Fprintf(w, "%s  %s\n", Faint.Apply(colors, fmt.Sprintf("%-*s", width, name)), f.values[i].Paint.Apply(colors, OneLine(f.values[i].Text)))
	}
}
