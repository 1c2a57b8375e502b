// Package checkpoints bounds the checkpoints of a run, which are part of its state.
package checkpoints

import (
	"cmp"
	"maps"
	"slices"
)

const (
	// Max bounds the sum of the sizes, in bytes.
	Max = 512 << 10
	// left is the sum after a cut. It is smaller than the bound, so that not every checkpoint causes
	// a search through the items.
	left = Max * 3 / 4
)

// Sizes has the sizes of the items' checkpoints, and their sum. The zero value is empty.
type Sizes struct {
	of  map[int]int
	sum int
}

// Set sets the size of an item's checkpoint; 0 means none. It reports whether the sum is above [Max].
func (s *Sizes) Set(item, size int) (over bool) {
	s.sum -= s.of[item]
	delete(s.of, item)
	if size == 0 {
		return false
	}
	if s.of == nil {
		s.of = map[int]int{}
	}
	s.of[item] = size
	s.sum += size
	return s.sum > Max
}

// Of returns the size of an item's checkpoint.
func (s *Sizes) Of(item int) int { return s.of[item] }

// Surplus lists the items whose checkpoints must go, the largest first.
func (s *Sizes) Surplus() []int {
	items := slices.SortedFunc(maps.Keys(s.of), func(a, b int) int { return cmp.Or(s.of[b]-s.of[a], a-b) })
	rest := s.sum
	for i, item := range items {
		if rest <= left {
			return items[:i]
		}
		rest -= s.of[item]
	}
	return items
}
