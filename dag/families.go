package dag

import "strings"

// families finds the tasks of a fan-out by its name. It is derived on first use.
type families struct {
	of   map[string][]Index
	seen Index // tasks below are indexed
}

// Family returns the tasks that a fan-out became, ascending: those whose id is
// name, a dot and more. Do not modify the slice.
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
