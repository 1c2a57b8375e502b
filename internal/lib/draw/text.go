package draw

import (
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/roundsman/roundsman/internal/lib/lists"
)

// Mermaid's defaults of maxEdges and maxTextSize.
const (
	maxMermaidEdges = 500
	maxMermaidText  = 50_000
)

// dot writes the picture in the Graphviz language, without a size limit.
func (p *Picture) dot(w *strings.Builder, s sketch) {
	fmt.Fprintf(w, "digraph %s {\n", dotText(p.Title))
	fmt.Fprintf(w, "  graph [rankdir=LR, label=%s, tooltip=%s, fontname=\"monospace\"];\n", dotText(p.heading()), dotText(p.about(s)))
	w.WriteString("  node [shape=box, fontname=\"monospace\", fontsize=11];\n")
	for i, b := range s.boxes {
		fmt.Fprintf(w, "  n%d [label=%s, tooltip=%s, %s];\n", i, dotText(strings.Join(b.lines, "\n")),
			dotText(strings.TrimSpace(b.name+"\n"+b.note)), dotLook(p.lookOf(b.look)))
	}
	for _, e := range s.edges {
		fmt.Fprintf(w, "  n%d -> n%d;\n", e[0], e[1])
	}
	w.WriteString("  subgraph cluster_legend {\n    label=\"legend\";\n")
	for i, l := range p.used(s) {
		fmt.Fprintf(w, "    legend%d [label=%s, %s];\n", i, dotText(l.says()), dotLook(l))
	}
	w.WriteString("  }\n}\n")
}

func dotLook(l look) string {
	style := "rounded,filled"
	if l.dashed {
		style += ",dashed"
	}
	return fmt.Sprintf("style=%q, fillcolor=%q, color=%q", style, l.fill, l.stroke)
}

// dotText quotes text. A backslash is literal; a line break breaks the label.
func dotText(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", " ").Replace(text) + `"`
}

func (s sketch) fitsMermaid(name, text string) error {
	tooLarge := &TooLargeError{Name: name, Boxes: len(s.boxes), Edges: len(s.edges), Format: Mermaid}
	for _, r := range text {
		tooLarge.Characters += utf16.RuneLen(r) // as JavaScript counts
	}
	switch {
	case len(s.edges) > maxMermaidEdges:
		tooLarge.Characters = 0
	case tooLarge.Characters <= maxMermaidText:
		return nil
	}
	return tooLarge
}

func (p *Picture) mermaid(w *strings.Builder, s sketch) {
	fmt.Fprintf(w, "flowchart LR\n  accTitle: %s\n  accDescr: %s\n", oneLine(p.heading()), oneLine(p.about(s)))
	number := map[string]int{}
	for i, l := range p.used(s) {
		number[l.name] = i
		dash := ""
		if l.dashed {
			dash = ",stroke-dasharray:4 3"
		}
		fmt.Fprintf(w, "  classDef look%d fill:%s,stroke:%s,color:%s%s\n", i, l.fill, l.stroke, ink, dash)
	}
	for i, b := range s.boxes {
		lines := lists.Map(b.lines, mermaidText)
		class := ""
		if n, ok := number[b.look]; ok {
			class = fmt.Sprintf(":::look%d", n)
		}
		fmt.Fprintf(w, "  n%d[\"%s\"]%s\n", i, strings.Join(lines, "<br/>"), class)
	}
	for _, e := range s.edges {
		fmt.Fprintf(w, "  n%d --> n%d\n", e[0], e[1])
	}
	w.WriteString("  subgraph legend\n")
	for i, l := range p.used(s) {
		fmt.Fprintf(w, "    legend%d[\"%s\"]:::look%d\n", i, mermaidText(l.says()), i)
	}
	w.WriteString("  end\n")
}

// mermaidText writes characters with a meaning in Mermaid or HTML as entities.
func mermaidText(text string) string {
	var out strings.Builder
	for _, r := range oneLine(text) {
		if strings.ContainsRune("\"#&<>`;{}[]()|\\", r) {
			fmt.Fprintf(&out, "#%d;", r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
