// Package lists has the loops that package slices does not have.
package lists

// Map returns the results of change for all elements, in order. The result is never nil.
func Map[E, T any](list []E, change func(E) T) []T {
	changed := make([]T, len(list))
	for i, e := range list {
		changed[i] = change(e)
	}
	return changed
}

// Count returns the number of elements that match.
func Count[E any](list []E, match func(E) bool) int {
	n := 0
	for _, e := range list {
		if match(e) {
			n++
		}
	}
	return n
}

// OrEmpty returns an empty list for nil, because JSON writes nil as null.
func OrEmpty[L ~[]E, E any](list L) L {
	if list == nil {
		return L{}
	}
	return list
}
