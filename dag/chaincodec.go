package dag

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/roundsman/roundsman/dag/internal/graph"
	"github.com/roundsman/roundsman/dag/internal/wire"
)

// appendChains encodes the chains. An item in flight is encoded as its first task.
func (q *queue) appendChains(buf []byte) []byte {
	if len(q.chains.byName) == 0 {
		return buf
	}
	buf = binary.AppendUvarint(buf, uint64(len(q.chains.byName)))
	for _, c := range q.chains.list {
		buf = wire.AppendBytes(buf, []byte(c.name))
		buf = binary.AppendUvarint(buf, uint64(c.InFlight))
		buf = append(buf, byte(c.OnFailure))
		buf = binary.AppendUvarint(buf, uint64(len(c.Entries)))
		for _, entry := range c.Entries {
			buf = wire.AppendBytes(buf, []byte(entry))
		}
		buf = appendRow(buf, c.begun())
	}
	return buf
}

func (c *chain) begun() []Index {
	row := make([]Index, 0, c.busy)
	for _, it := range c.items {
		if it.begun {
			row = append(row, slices.Min(it.tasks))
		}
	}
	slices.Sort(row)
	return row
}

func (q *queue) readChains(in *wire.Reader) {
	n, last := in.Count(in.Left(), "chains"), ""
	for range n {
		name := string(in.Bytes("name"))
		c := Chain{InFlight: in.Count(math.MaxInt32, "items"), OnFailure: FailurePolicy(in.Byte(uint8(graph.PolicyCount), "failure policy"))}
		for range in.Count(in.Left(), "entries") {
			entry := string(in.Bytes("entry"))
			if entry == "" || len(entry) > MaxIDLength || q.chains.byEntry[entry] != nil || slices.Contains(c.Entries, entry) {
				in.Fail("the entry of a chain is malformed")
				return
			}
			c.Entries = append(c.Entries, entry)
		}
		if in.Err() != nil || name <= last || c.InFlight == 0 || len(name) > MaxIDLength || len(c.Entries) == 0 {
			in.Fail("a chain is malformed")
			return
		}
		last = name
		q.limitChain(name, c)
		q.readBegun(in, q.chains.byName[name])
	}
	if n == 0 {
		in.Fail("the chains are missing")
	}
}

func (q *queue) readBegun(in *wire.Reader, c *chain) {
	for _, i := range row(in, len(q.states.nodes)) {
		it := q.chains.of[i]
		if in.Err() != nil || it == nil || it.of != c || it.begun || i != slices.Min(it.tasks) {
			in.Fail("an item in flight is malformed")
			return
		}
		it.begun = true
	}
}

func (all *chains) reset() {
	for _, c := range all.list {
		c.busy, c.waiting, c.ready, c.resumed, c.failed = 0, 0, 0, 0, 0
		for _, it := range c.items {
			it.live, it.ready, it.done = 0, 0, 0
			c.busy += one(it.begun)
		}
	}
}

// idle reports whether an item in flight has no task left.
func (all *chains) idle() bool {
	for _, c := range all.list {
		for _, it := range c.items {
			if it.begun && it.live == 0 {
				return true
			}
		}
	}
	return false
}
