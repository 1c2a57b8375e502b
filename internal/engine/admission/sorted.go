package admission

import (
	"iter"
	"slices"
)

// blockSize bounds the pointers that an insertion moves: half a block.
const blockSize = 256

// sorted is an ordered set of blocks: its costs hardly depend on its size. An element must not change its order in the set.
type sorted[T any] struct {
	compare func(a, b T) int
	blocks  [][]T
	n       int
}

func newSorted[T any](compare func(a, b T) int) *sorted[T] { return &sorted[T]{compare: compare} }

func (s *sorted[T]) len() int { return s.n }

func (s *sorted[T]) locate(x T) (block, at int, found bool) {
	block, _ = slices.BinarySearchFunc(s.blocks, x, func(b []T, x T) int { return s.compare(b[len(b)-1], x) })
	if block == len(s.blocks) {
		return block, 0, false
	}
	at, found = slices.BinarySearchFunc(s.blocks[block], x, s.compare)
	return block, at, found
}

func (s *sorted[T]) add(x T) {
	block, at, found := s.locate(x)
	if found {
		return
	}
	s.n++
	if block == len(s.blocks) {
		if block == 0 {
			s.blocks = append(s.blocks, []T{x})
			return
		}
		block--
		at = len(s.blocks[block])
	}
	b := slices.Insert(s.blocks[block], at, x)
	s.blocks[block] = b
	if len(b) > blockSize {
		half := len(b) / 2
		upper := slices.Clone(b[half:])
		clear(b[half:])
		s.blocks[block] = b[:half]
		s.blocks = slices.Insert(s.blocks, block+1, upper)
	}
}

func (s *sorted[T]) remove(x T) {
	block, at, found := s.locate(x)
	if !found {
		return
	}
	s.n--
	s.blocks[block] = slices.Delete(s.blocks[block], at, at+1)
	if len(s.blocks[block]) == 0 {
		s.blocks = slices.Delete(s.blocks, block, block+1)
	}
}

func (s *sorted[T]) has(x T) bool {
	_, _, found := s.locate(x)
	return found
}

func (s *sorted[T]) first() (x T) {
	if len(s.blocks) > 0 {
		return s.blocks[0][0]
	}
	return x
}

// all yields the elements in order. The set must not change meanwhile.
func (s *sorted[T]) all() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, b := range s.blocks {
			for _, x := range b {
				if !yield(x) {
					return
				}
			}
		}
	}
}

func (s *sorted[T]) from(x T) iter.Seq[T] {
	return func(yield func(T) bool) {
		block, at, _ := s.locate(x)
		for ; block < len(s.blocks); block, at = block+1, 0 {
			for _, y := range s.blocks[block][at:] {
				if !yield(y) {
					return
				}
			}
		}
	}
}

func (s *sorted[T]) list() []T { return slices.Concat(s.blocks...) }
