package draw

// Drawing is a picture with coordinates in pixels, for programs that draw it
// themselves.
type Drawing struct {
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
	Boxes  []Box   `json:"boxes"`
	Edges  []Edge  `json:"edges"`
}

// Box is a task, or all tasks of a fan-out. X and Y are its upper left corner.
type Box struct {
	// ID is the task's or the fan-out's, Tasks how many tasks it stands for.
	ID    string `json:"id"`
	Tasks int    `json:"tasks"`
	// State is the one that a person should know first.
	State string `json:"state"`
	// Lines stand in the box, the id first.
	Lines  []string `json:"lines"`
	Note   string   `json:"note,omitempty"`
	X      float64  `json:"x"`
	Y      float64  `json:"y"`
	Width  float64  `json:"width"`
	Height float64  `json:"height"`
}

// Edge leads from a box to one that depends on it. Path is its line as SVG's
// path data.
type Edge struct {
	From int    `json:"from"`
	To   int    `json:"to"`
	Path string `json:"path"`
}

// Layout places the boxes; ok is false if there would be more than most.
func (p *Picture) Layout(collapse Collapse, most int) (drawing Drawing, ok bool, err error) {
	s := p.boxes(collapse == Always || collapse == Auto && len(p.Tasks) > autoCollapse)
	if len(s.boxes) > most || len(s.edges) > maxEdges || s.bends() > maxBends {
		return drawing, false, nil
	}
	laid, err := p.layout(s)
	if err != nil {
		return drawing, false, err
	}
	drawing = Drawing{Width: laid.width, Height: laid.height, Boxes: make([]Box, len(s.boxes)), Edges: make([]Edge, len(s.edges))}
	for i, b := range s.boxes {
		size := laid.sizes[i]
		drawing.Boxes[i] = Box{
			ID: b.name, Tasks: b.tasks, State: b.look, Lines: b.lines, Note: b.note,
			X: laid.middles[i].x - size.x/2, Y: laid.middles[i].y - size.y/2, Width: size.x, Height: size.y,
		}
	}
	for i, e := range s.edges {
		drawing.Edges[i] = Edge{From: e[0], To: e[1], Path: curve(laid.routes[i])}
	}
	return drawing, true, nil
}
