package draw

import (
	"fmt"
	"strconv"

	"github.com/d2lang/dagro"
	"github.com/mattn/go-runewidth"
)

// The time of a layout grows faster than the graph: below these limits it is about five seconds on one core.
const (
	maxBoxes = 1000
	maxEdges = 3000
	// The layout adds a box for each layer that a dependency crosses.
	maxBends = 5000
	// More boxes get an approximation, which is 15 times faster at 1,000.
	exactBoxes = 200
)

// Sizes in pixels. The font is monospaced, so widths can be computed without it.
const (
	fontSize   = 12
	columnSize = 7.3
	lineHeight = 16
	padding    = 10
	minWidth   = 72
	margin     = 24
	between    = 24
	layers     = 64
	// closeLayers is the distance between the layers of boxes of one size.
	closeLayers = 40
)

// TooLargeError refuses to draw a graph.
type TooLargeError struct {
	Name                string
	Boxes, Edges, Bends int
	// Characters of a Mermaid flowchart, if they are too many.
	Characters int
	Format     Format
}

// Error implements error.
func (e *TooLargeError) Error() string {
	what := fmt.Sprintf("DAG %s has %d boxes and %d dependencies to draw", e.Name, e.Boxes, e.Edges)
	limit := fmt.Sprintf("at most %d and %d", maxBoxes, maxEdges)
	switch {
	case e.Characters > 0:
		what += fmt.Sprintf(" in %d characters", e.Characters)
		limit = fmt.Sprintf("Mermaid takes at most %d characters", maxMermaidText)
	case e.Format == Mermaid:
		limit = fmt.Sprintf("Mermaid takes at most %d dependencies", maxMermaidEdges)
	case e.Bends > maxBends && e.Boxes <= maxBoxes && e.Edges <= maxEdges:
		what += fmt.Sprintf(", which cross %d layers", e.Bends)
		limit = fmt.Sprintf("at most %d", maxBends)
	}
	return fmt.Sprintf("%s, too many for a picture (%s): draw what is around a task of a run with `roundsman show RUN/TASK -o svg`, "+
		"or write -o dot, which has no limit, for a tool of your own", what, limit)
}

type point struct{ x, y float64 }

type placed struct {
	width, height float64
	middles       []point
	sizes         []point
	routes        [][]point
}

func (p *Picture) layout(s sketch) (placed, error) {
	bends := 0
	if len(s.boxes) <= maxBoxes && len(s.edges) <= maxEdges {
		bends = s.bends()
	}
	if len(s.boxes) > maxBoxes || len(s.edges) > maxEdges || bends > maxBends {
		return placed{}, &TooLargeError{Name: p.Title, Boxes: len(s.boxes), Edges: len(s.edges), Bends: bends, Format: SVG}
	}
	if len(s.boxes) == 0 {
		return placed{}, nil
	}
	sizes := make([]point, len(s.boxes))
	graph := dagro.NewGraph(dagro.GraphOptions{}).SetGraph(p.layoutOptions(s))
	for i, b := range s.boxes {
		sizes[i] = p.sizeOf(b)
		graph.SetNode(strconv.Itoa(i), dagro.Attrs{"width": sizes[i].x, "height": sizes[i].y})
	}
	for _, e := range s.edges {
		graph.SetEdge(strconv.Itoa(e[0]), strconv.Itoa(e[1]), dagro.Attrs{})
	}
	if err := dagro.Layout(graph); err != nil {
		return placed{}, fmt.Errorf("lay out DAG %s: %w", p.Title, err)
	}
	return read(graph, s, sizes)
}

func (p *Picture) layoutOptions(s sketch) dagro.Attrs {
	options := dagro.Attrs{
		"rankdir": "LR", "ranker": "network-simplex",
		"nodesep": float64(between), "edgesep": float64(between) / 2, "ranksep": float64(layers),
		"marginx": float64(margin), "marginy": float64(margin),
	}
	if p.BoxWidth > 0 {
		options["nodesep"], options["ranksep"], options["marginx"], options["marginy"] = float64(between), float64(closeLayers), float64(between)/2, float64(between)
	}
	if p.Down {
		options["rankdir"] = "TB"
	}
	if len(s.boxes) > exactBoxes {
		options["ranker"] = "tight-tree"
	}
	return options
}

func (p *Picture) sizeOf(b box) point {
	if p.BoxWidth > 0 {
		return point{p.BoxWidth, p.BoxHeight}
	}
	widest := 0
	for _, text := range b.lines {
		widest = max(widest, columns(text))
	}
	return point{max(float64(widest)*columnSize+2*padding, minWidth), float64(len(b.lines)*lineHeight + padding)}
}

// columns is the width of text in a browser, which does not depend on the locale of this process.
func columns(text string) int {
	return (&runewidth.Condition{StrictEmojiNeutral: true}).StringWidth(text)
}

func read(graph *dagro.Graph, s sketch, sizes []point) (placed, error) {
	out := placed{sizes: sizes, middles: make([]point, len(s.boxes)), routes: make([][]point, len(s.edges))}
	for i := range s.boxes {
		attrs, _ := graph.Node(strconv.Itoa(i)).(dagro.Attrs)
		x, okX := attrs["x"].(float64)
		y, okY := attrs["y"].(float64)
		if !okX || !okY {
			return placed{}, fmt.Errorf("the layout left task %s without a place", s.boxes[i].name)
		}
		out.middles[i] = point{x, y}
		out.width, out.height = max(out.width, x+sizes[i].x/2+margin), max(out.height, y+sizes[i].y/2+margin)
	}
	for i, e := range s.edges {
		attrs, _ := graph.EdgeByArgs(strconv.Itoa(e[0]), strconv.Itoa(e[1])).(dagro.Attrs)
		points, _ := attrs["points"].([]dagro.Point)
		if len(points) < 2 {
			return placed{}, fmt.Errorf("the layout left the dependency of %s on %s without a way", s.boxes[e[1]].name, s.boxes[e[0]].name)
		}
		for _, at := range points {
			out.routes[i] = append(out.routes[i], point{at.X, at.Y})
			out.width, out.height = max(out.width, at.X+margin), max(out.height, at.Y+margin)
		}
	}
	return out, nil
}

// Collapsed boxes may form a cycle; each of them counts as one layer.
func (s sketch) bends() int {
	next := make([][]int, len(s.boxes))
	waits := make([]int, len(s.boxes))
	for _, e := range s.edges {
		next[e[0]] = append(next[e[0]], e[1])
		waits[e[1]]++
	}
	var queue []int
	for i, n := range waits {
		if n == 0 {
			queue = append(queue, i)
		}
	}
	layer := make([]int, len(s.boxes))
	for head := 0; head < len(queue); head++ {
		from := queue[head]
		for _, to := range next[from] {
			layer[to] = max(layer[to], layer[from]+1)
			if waits[to]--; waits[to] == 0 {
				queue = append(queue, to)
			}
		}
	}
	bends := 0
	for _, e := range s.edges {
		bends += max(layer[e[1]]-layer[e[0]]-1, 0)
	}
	return bends
}
