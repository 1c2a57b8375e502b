package graph

import "hash/maphash"

// idTable holds all ids in one string with an open-addressing table. Building it costs a third of a Go map, and one
// allocation. The random seed prevents chosen collisions and never affects a result.
type idTable struct {
	text  string
	off   []uint32 // id of i: text[off[i]:off[i+1]]
	slots []Index  // None where empty; length is a power of two
	seed  maphash.Seed
}

func newIDTable(text string, off []uint32, dup func(first, second Index)) idTable {
	n := len(off) - 1
	size := 8
	for size < 2*n {
		size *= 2
	}
	t := idTable{text: text, off: off, slots: make([]Index, size), seed: maphash.MakeSeed()}
	for s := range t.slots {
		t.slots[s] = None
	}
	for i := range Index(n) {
		if other, slot := t.probe(t.at(i)); other != None {
			dup(other, i)
		} else {
			t.slots[slot] = i
		}
	}
	return t
}

func (t *idTable) at(i Index) string { return t.text[t.off[i]:t.off[i+1]] }

func (t *idTable) find(id string) (Index, bool) {
	if len(t.slots) == 0 {
		return None, false
	}
	i, _ := t.probe(id)
	return i, i != None
}

// probe returns the task with that id, or None and its free slot.
func (t *idTable) probe(id string) (Index, int) {
	mask := len(t.slots) - 1
	slot := int(maphash.String(t.seed, id)) & mask
	for {
		i := t.slots[slot]
		if i == None || t.at(i) == id {
			return i, slot
		}
		slot = (slot + 1) & mask
	}
}
