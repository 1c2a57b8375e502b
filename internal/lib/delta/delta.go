// Package delta writes the difference of two texts for a reader that has the older one.
package delta

import (
	"bytes"
	"encoding/json"
	"slices"
)

const (
	// separator divides a text into pieces: JSON has one between any two fields.
	separator = ','
	// run is the number of equal pieces that make a copy worthwhile.
	run = 3
)

// largest bounds the texts: the work is that of all their pieces.
const largest = 1 << 20

// Of returns the steps from before to after as a JSON array, or nil if they save less than a quarter. A step is a
// text, or [from, count]: pieces of before. Pieces that are own are never copied.
func Of(before, after []byte, own func(piece []byte) bool) []byte {
	if len(before) > largest || len(after) > largest {
		return nil
	}
	c := &comparison{old: bytes.Split(before, []byte{separator}), text: bytes.Split(after, []byte{separator}), own: own}
	c.index()
	for at := 0; at < len(c.text); {
		from, count := c.copied(at)
		if count == 0 {
			c.inserted = append(c.inserted, c.text[at])
			at++
			continue
		}
		c.insert()
		c.steps = append(c.steps, [2]int{from, count})
		c.next = from + count
		at += count
	}
	c.insert()
	steps, err := json.Marshal(c.steps)
	if err != nil || len(steps) > len(after)/4*3 {
		return nil
	}
	return steps
}

type comparison struct {
	old, text [][]byte
	own       func([]byte) bool
	// places has the positions of each run of old pieces, ascending.
	places   map[string][]int
	next     int
	inserted [][]byte
	steps    []any
}

func (c *comparison) index() {
	c.places = map[string][]int{}
	for i := range len(c.old) - run + 1 {
		name := key(c.old[i : i+run])
		c.places[name] = append(c.places[name], i)
	}
}

func key(pieces [][]byte) string { return string(bytes.Join(pieces, []byte{separator})) }

func (c *comparison) copied(at int) (from, count int) {
	if count = c.equal(c.next, at); count > 0 {
		return c.next, count
	}
	if at+run > len(c.text) {
		return 0, 0
	}
	places := c.places[key(c.text[at:at+run])]
	if len(places) == 0 {
		return 0, 0
	}
	nearest, _ := slices.BinarySearch(places, c.next)
	from = places[min(nearest, len(places)-1)]
	if count = c.equal(from, at); count < run {
		return 0, 0
	}
	return from, count
}

func (c *comparison) equal(from, at int) (count int) {
	for from+count < len(c.old) && at+count < len(c.text) && bytes.Equal(c.old[from+count], c.text[at+count]) && !c.own(c.text[at+count]) {
		count++
	}
	return count
}

func (c *comparison) insert() {
	if len(c.inserted) > 0 {
		c.steps = append(c.steps, key(c.inserted))
		c.inserted = nil
	}
}
