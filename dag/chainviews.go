package dag

// OpenItems returns one open task of each item in flight of a chain, at most most, if possible a running one.
func (q *queue) OpenItems(name string, most int) []Index {
	var open []Index
	c := q.chains.byName[name]
	if c == nil {
		return nil
	}
	for _, it := range c.items {
		if it.begun && len(open) < most {
			open = append(open, q.openTask(it))
		}
	}
	return open
}

func (q *queue) openTask(it *chainItem) Index {
	first := None
	for _, i := range it.tasks {
		switch s := q.states.nodes[i].state; {
		case s == Running:
			return i
		case !s.Terminal() && first == None:
			first = i
		}
	}
	return first
}
