package draw

// Drawing is a picture with coordinates in pixels, for other programs to draw.
type Drawing struct {
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
	Boxes  []Box   `json:"boxes"`
	Edges  []Edge  `json:"edges"`
}

// Box is a task. X and Y are its upper left corner.
type Box struct {
	ID    string `json:"id"`
	State string `json:"state"`
	// Lines of text in the box, the id first.
	Lines  []string `json:"lines"`
	Note   string   `json:"note,omitempty"`
	X      float64  `json:"x"`
	Y      float64  `json:"y"`
	Width  float64  `json:"width"`
	Height float64  `json:"height"`
}

// Edge leads from a box to its dependant. Path is the line as SVG path data.
type Edge struct {
	From int    `json:"from"`
	To   int    `json:"to"`
	Path string `json:"path"`
}

// Layout places a box for each task. ok is false for more boxes than most.
func (p *Picture) Layout(most int) (drawing Drawing, ok bool, err error) {
	s := p.boxes(false)
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
			ID: b.name, State: b.look, Lines: b.lines, Note: b.note,
			X: laid.middles[i].x - size.x/2, Y: laid.middles[i].y - size.y/2, Width: size.x, Height: size.y,
		}
	}
	for i, e := range s.edges {
		drawing.Edges[i] = Edge{From: e[0], To: e[1], Path: curve(laid.routes[i])}
	}
	return drawing, true, nil
}
