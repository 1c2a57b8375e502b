package placement

import (
	"fmt"
	"slices"
)

// Gone says why nothing can be expected of that process any more, or "". An
// unknown worker is no news: the registry may have been rebuilt.
func (f *Fleet[O]) Gone(id, instance string) string {
	if f.IsFenced(id, instance) {
		return fmt.Sprintf("worker %s was replaced by another process", id)
	}
	if m := f.Instance(id, instance); m != nil && m.Gone {
		return fmt.Sprintf("worker %s is OFFLINE", id)
	}
	return ""
}

// IsFenced reports whether that incarnation lost its id while it may have lived:
// nothing that it says counts.
func (f *Fleet[O]) IsFenced(id, instance string) bool {
	m := f.Find(id)
	return m != nil && instance != "" && slices.Contains(m.Fenced, instance)
}
