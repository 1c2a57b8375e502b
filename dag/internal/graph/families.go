package graph

import "strings"

// Families indexes the tasks of fan-outs by name. It is derived on first use.
type Families struct {
	of   map[string][]Index
	seen Index // tasks below are indexed
}

// Of returns the tasks of a fan-out, ascending, of n tasks with the given ids. Do not modify the slice.
func (f *Families) Of(name string, n int, id func(Index) string) []Index {
	if f.of == nil {
		f.of = map[string][]Index{}
	}
	for ; int(f.seen) < n; f.seen++ {
		if entry, _, fanned := strings.Cut(id(f.seen), "."); fanned {
			f.of[entry] = append(f.of[entry], f.seen)
		}
	}
	return f.of[name]
}

// EntryOf returns the part of an id before its first dot; empty without a dot.
func EntryOf(id string) string {
	entry, _, fanned := strings.Cut(id, ".")
	if !fanned {
		return ""
	}
	return entry
}
