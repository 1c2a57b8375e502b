package graph

import (
	"fmt"
	"strings"
)

// Diff lists the task ids that differ between two graphs, in declaration order.
type Diff struct {
	Added, Changed, Removed []string
}

// Empty reports whether the graphs have no differences.
func (d Diff) Empty() bool { return len(d.Added)+len(d.Changed)+len(d.Removed) == 0 }

// DiffError refuses to resume a run with another graph.
type DiffError struct {
	Diff Diff
}

// Error lists the differences and the way to continue.
func (e *DiffError) Error() string {
	var parts []string
	for _, p := range []struct {
		what string
		ids  []string
	}{{"added", e.Diff.Added}, {"changed", e.Diff.Changed}, {"removed", e.Diff.Removed}} {
		if len(p.ids) > 0 {
			const shown = 5
			list := strings.Join(p.ids[:min(shown, len(p.ids))], ", ")
			if len(p.ids) > shown {
				list += fmt.Sprintf(" and %d more", len(p.ids)-shown)
			}
			parts = append(parts, p.what+": "+list)
		}
	}
	return "the tasks differ from those of the earlier run (" + strings.Join(parts, "; ") +
		"); accept the difference to run what changed and everything after it, or resume with the original"
}

// Compare lists the differences between two graphs' tasks.
func Compare(before, after *Graph) Diff {
	var d Diff
	if before.Hash() == after.Hash() {
		return d
	}
	for i := range Index(after.Len()) {
		j, ok := before.Lookup(after.ID(i))
		if !ok {
			d.Added = append(d.Added, after.ID(i))
		} else if before.Fingerprint(j) != after.Fingerprint(i) {
			d.Changed = append(d.Changed, after.ID(i))
		}
	}
	for j := range Index(before.Len()) {
		if _, ok := after.Lookup(before.ID(j)); !ok {
			d.Removed = append(d.Removed, before.ID(j))
		}
	}
	return d
}
