// Package ids finds tasks by their names.
package ids

import "hash/maphash"

const none = -1

// Table holds all ids of a graph in one string and finds them with an
// open-addressing table: building it costs a third of a Go map and one
// allocation instead of one per id. The seed is random, so ids cannot be chosen
// to collide; it never shows in a result.
type Table[I ~int32] struct {
	text  string
	off   []uint32 // id of i: text[off[i]:off[i+1]]
	slots []I      // none where empty; length is a power of two
	seed  maphash.Seed
}

// New indexes n ids. dup is called for every id equal to an earlier one;
// the earlier one keeps the name.
func New[I ~int32](text string, off []uint32, dup func(first, second I)) Table[I] {
	n := len(off) - 1
	size := 8
	for size < 2*n {
		size *= 2
	}
	t := Table[I]{text: text, off: off, slots: make([]I, size), seed: maphash.MakeSeed()}
	for s := range t.slots {
		t.slots[s] = none
	}
	for i := range I(n) {
		if other, slot := t.probe(t.At(i)); other != none {
			dup(other, i)
		} else {
			t.slots[slot] = i
		}
	}
	return t
}

// At is the id of task i.
func (t *Table[I]) At(i I) string { return t.text[t.off[i]:t.off[i+1]] }

// Find returns the task with that id.
func (t *Table[I]) Find(id string) (I, bool) {
	if len(t.slots) == 0 {
		return none, false
	}
	i, _ := t.probe(id)
	return i, i != none
}

// probe returns the task with that id, or none and the slot where it belongs.
func (t *Table[I]) probe(id string) (I, int) {
	mask := len(t.slots) - 1
	slot := int(maphash.String(t.seed, id)) & mask
	for {
		i := t.slots[slot]
		if i == none || t.At(i) == id {
			return i, slot
		}
		slot = (slot + 1) & mask
	}
}
