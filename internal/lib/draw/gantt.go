package draw

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Bar is a task in a Gantt chart.
type Bar struct {
	ID, State, Note string
	// End of the task's last wait for others, begin and end; zero before. A task without Began has no bar.
	Ready, Began, Ended time.Time
}

const (
	ganttWidth  = 720
	ganttHeight = 18
	minBar      = 2
	ticks       = 6
)

// Gantt writes the bars of a run as SVG in the order of their start. The thin line before a bar is the wait since the
// task was ready. Tasks that never started are counted below the bars.
func Gantt(w io.Writer, heading string, bars []Bar, now time.Time) error {
	shown := slices.DeleteFunc(slices.Clone(bars), func(b Bar) bool { return b.Began.IsZero() })
	slices.SortStableFunc(shown, func(a, b Bar) int { return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.ID, b.ID)) })
	if len(shown) > maxBoxes {
		return fmt.Errorf("%d tasks have begun, more than a chart shows (%d): draw those around one with `roundsman show RUN/TASK -o gantt`, "+
			"or read the times of all with `roundsman jobs RUN --limit 0 -o json`", len(shown), maxBoxes)
	}
	var from, to time.Time
	names := 0
	for i := range shown {
		begin := shown[i].Began
		if shown[i].Ended.IsZero() {
			shown[i].Ended = now
		}
		if shown[i].Ended.Before(begin) { // The clock of this machine is behind.
			shown[i].Ended = begin
		}
		if !shown[i].Ready.IsZero() && shown[i].Ready.Before(begin) {
			begin = shown[i].Ready
		}
		if from.IsZero() || begin.Before(from) {
			from = begin
		}
		if shown[i].Ended.After(to) {
			to = shown[i].Ended
		}
		names = max(names, columns(shown[i].ID))
	}
	var text strings.Builder
	chart := ganttChart{from: from, span: max(to.Sub(from), time.Millisecond), left: float64(names)*columnSize + 2*margin}
	chart.write(&text, heading, shown, len(bars)-len(shown))
	_, err := io.WriteString(w, text.String())
	return err
}

type ganttChart struct {
	from time.Time
	span time.Duration
	left float64
}

func (g ganttChart) x(at time.Time) float64 {
	return g.left + ganttWidth*float64(at.Sub(g.from))/float64(g.span)
}

// unit is the unit of the labels, at most a hundredth of the span.
func (g ganttChart) unit() time.Duration {
	unit := time.Microsecond
	for _, next := range []time.Duration{
		10 * time.Microsecond, 100 * time.Microsecond, time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond,
		time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour,
	} {
		if next <= g.span/100 {
			unit = next
		}
	}
	return unit
}

func (g ganttChart) write(w *strings.Builder, heading string, bars []Bar, left int) {
	height := float64(len(bars)+3)*(ganttHeight+6) + 2*margin
	width := max(g.left+ganttWidth+6*columnSize, float64(columns(heading))*columnSize) + 2*margin
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img" aria-labelledby="title" `+
		`font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="%d">`+"\n", width, height, width, height, fontSize)
	fmt.Fprintf(w, "<title id=\"title\">%s</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"%s\"/>\n", escape(heading), paper)
	fmt.Fprintf(w, `<text x="%d" y="%.1f" fill="%s" font-weight="bold">%s</text>`+"\n", margin, float64(margin+fontSize), ink, escape(heading))
	top, bottom := float64(2*margin+fontSize), height-margin-lineHeight
	unit := g.unit()
	for i := range ticks + 1 {
		at := g.from.Add(g.span * time.Duration(i) / ticks)
		fmt.Fprintf(w, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="0.5"/><text x="%.1f" y="%.1f" text-anchor="middle" fill="%s">+%s</text>`+"\n",
			g.x(at), top, g.x(at), bottom, line, g.x(at), bottom+lineHeight, ink, at.Sub(g.from).Round(unit))
	}
	looks := (&Picture{Run: true})
	for i, b := range bars {
		y := top + float64(i)*(ganttHeight+6) + 6
		fmt.Fprintf(w, `<g><title>%s</title>`, escape(strings.TrimSpace(fmt.Sprintf("%s\n%s\n%s, %s", b.ID, b.Note, looks.lookOf(b.State).says(), b.Ended.Sub(b.Began).Round(time.Millisecond)))))
		fmt.Fprintf(w, `<text x="%d" y="%.1f" fill="%s">%s</text>`, margin, y+ganttHeight-5, ink, escape(b.ID))
		if !b.Ready.IsZero() && b.Ready.Before(b.Began) {
			fmt.Fprintf(w, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`, g.x(b.Ready), y+ganttHeight/2, g.x(b.Began), y+ganttHeight/2, line)
		}
		rectangle(w, looks.lookOf(b.State), g.x(b.Began), y, max(g.x(b.Ended)-g.x(b.Began), minBar), ganttHeight)
		w.WriteString("</g>\n")
	}
	if left > 0 {
		fmt.Fprintf(w, `<text x="%d" y="%.1f" fill="%s">and %d that never began</text>`+"\n", margin, bottom+2*lineHeight, ink, left)
	}
	w.WriteString("</svg>\n")
}
