package dag

import "strings"

// families indexes the tasks of fan-outs by name. It is derived on first use.
type families struct {
	of   map[string][]Index
	seen Index // tasks below are indexed
}

// Family returns the tasks of a fan-out, ascending: those with an id of name, a dot and more. Do not
// modify the slice.
func (r *Run) Family(name string) []Index {
	f := &r.families
	if f.of == nil {
		f.of = map[string][]Index{}
	}
	for ; int(f.seen) < len(r.nodes); f.seen++ {
		if entry, _, fanned := strings.Cut(r.ID(f.seen), "."); fanned {
			f.of[entry] = append(f.of[entry], f.seen)
		}
	}
	return f.of[name]
}
