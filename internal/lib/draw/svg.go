package draw

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
)

// svg writes the picture as a self-contained document without scripts, fonts and external references.
func (p *Picture) svg(w *strings.Builder, s sketch, laid placed) {
	legend, legendWidth := p.svgLegend(s, laid.height)
	width := max(laid.width, legendWidth, float64(columns(p.heading()))*columnSize+2*margin)
	height := laid.height + 2*lineHeight + margin
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" `+
		`role="img" aria-labelledby="title desc" font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="%d">`+"\n",
		width, height, width, height, fontSize)
	fmt.Fprintf(w, "<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n", escape(p.heading()), escape(p.about(s)))
	fmt.Fprintf(w, `<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">`+
		`<path d="M0 0 L8 4 L0 8 z" fill="%s"/></marker></defs>`+"\n", line)
	fmt.Fprintf(w, `<rect width="100%%" height="100%%" fill="%s"/>`+"\n", paper)
	fmt.Fprintf(w, `<g fill="none" stroke="%s" stroke-width="1.3">`+"\n", line)
	for i := range s.edges {
		fmt.Fprintf(w, `<path d="%s" marker-end="url(#arrow)"/>`+"\n", curve(laid.routes[i]))
	}
	w.WriteString("</g>\n")
	for i, b := range s.boxes {
		p.svgBox(w, b, laid.middles[i], laid.sizes[i])
	}
	w.WriteString(legend)
	w.WriteString("</svg>\n")
}

func (p *Picture) svgBox(w *strings.Builder, b box, middle, size point) {
	l := p.lookOf(b.look)
	fmt.Fprintf(w, "<g><title>%s</title>", escape(strings.Join(append(slices.Clip(b.lines), b.note), "\n")))
	rectangle(w, l, middle.x-size.x/2, middle.y-size.y/2, size.x, size.y)
	top := middle.y - float64(len(b.lines)-1)*lineHeight/2 + fontSize/3
	for i, text := range b.lines {
		weight := ""
		if i == 0 {
			weight = ` font-weight="bold"`
		}
		fmt.Fprintf(w, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="%s"%s>%s</text>`,
			middle.x, top+float64(i)*lineHeight, ink, weight, escape(text))
	}
	w.WriteString("</g>\n")
}

func rectangle(w *strings.Builder, l look, x, y, width, height float64) {
	dash := ""
	if l.dashed {
		dash = ` stroke-dasharray="4 3"`
	}
	fmt.Fprintf(w, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="6" fill="%s" stroke="%s" stroke-width="1.5"%s/>`,
		x, y, width, height, l.fill, l.stroke, dash)
}

func (p *Picture) svgLegend(s sketch, top float64) (text string, width float64) {
	var w strings.Builder
	x, middle := float64(margin), top+lineHeight
	fmt.Fprintf(&w, `<g aria-label="Legend"><text x="%.1f" y="%.1f" fill="%s">%s</text>`+"\n",
		x, middle+2*lineHeight-fontSize/2, ink, escape(p.heading()))
	for _, l := range p.used(s) {
		rectangle(&w, l, x, middle-lineHeight/2, lineHeight, lineHeight)
		x += lineHeight + padding
		fmt.Fprintf(&w, `<text x="%.1f" y="%.1f" fill="%s">%s</text>`+"\n", x, middle+fontSize/3, ink, escape(l.says()))
		x += float64(columns(l.says()))*columnSize + margin
	}
	w.WriteString("</g>\n")
	return w.String(), x
}

func curve(route []point) string {
	var d strings.Builder
	fmt.Fprintf(&d, "M%.1f %.1f", route[0].x, route[0].y)
	last := len(route) - 1
	for i := 1; i < last; i++ {
		to := route[i+1]
		if i+1 < last {
			to = point{(route[i].x + to.x) / 2, (route[i].y + to.y) / 2}
		}
		fmt.Fprintf(&d, " Q%.1f %.1f %.1f %.1f", route[i].x, route[i].y, to.x, to.y)
	}
	if last == 1 {
		fmt.Fprintf(&d, " L%.1f %.1f", route[1].x, route[1].y)
	}
	return d.String()
}

// escape escapes text for XML and replaces characters that XML does not allow.
func escape(text string) string {
	var out strings.Builder
	// Writing to a strings.Builder cannot fail.
	_ = xml.EscapeText(&out, []byte(strings.TrimRight(text, "\n")))
	return out.String()
}
