package graph

import (
	"encoding/binary"

	"github.com/roundsman/roundsman/dag/internal/wire"
)

// graphMagic begins every encoded graph; its last byte is the version.
const graphMagic = "RMG1"

// Encode returns the canonical encoding: equal graphs have equal bytes on every machine. The layout is columnar:
//
//	magic, tasks, dependencies, meta
//	ids: length shared with the previous id | length of the rest | the rests
//	number of dependencies per task
//	dependencies: distance of the first to the task, then differences
//	priorities | rules | payload numbers | args numbers
//	distinct payloads: lengths | bytes;  attachments: lengths | bytes
//	CRC-32C
//
// Numbers are varints; the per-task columns other than ids and dependencies are
// runs of equal differences. Do not modify the result; it is kept.
func (g *Graph) Encode() []byte {
	g.encodeOnce.Do(g.encode)
	return g.encoded
}

func (g *Graph) encode() {
	n := g.Len()
	buf := make([]byte, 0, 64+len(g.meta)+8*n+3*len(g.needs))
	buf = append(buf, graphMagic...)
	buf = binary.AppendUvarint(buf, uint64(n))
	buf = binary.AppendUvarint(buf, uint64(len(g.needs)))
	buf = wire.AppendBytes(buf, g.meta)
	buf = g.appendIDs(buf)
	buf = g.appendNeeds(buf)
	buf = wire.AppendRuns(buf, n, func(i int) int64 { return int64(g.Priority(Index(i))) })
	buf = wire.AppendRuns(buf, n, func(i int) int64 { return int64(g.attrs[i]) })
	buf = wire.AppendRuns(buf, n, func(i int) int64 { return int64(blobIndex(g.payload, Index(i))) })
	buf = wire.AppendRuns(buf, n, func(i int) int64 { return int64(blobIndex(g.args, Index(i))) })
	buf = AppendTable(buf, g.blobs)
	buf = AppendTable(buf, g.attachments)
	g.keep(wire.Sealed(buf))
}

func (g *Graph) appendIDs(buf []byte) []byte {
	n := g.Len()
	shared := make([]int, n)
	rest := 0
	prev := ""
	for i := range n {
		id := g.ids.at(Index(i))
		shared[i] = sharedPrefix(prev, id)
		buf = binary.AppendUvarint(buf, uint64(shared[i]))
		rest += len(id) - shared[i]
		prev = id
	}
	for i := range n {
		id := g.ids.at(Index(i))
		buf = binary.AppendUvarint(buf, uint64(len(id)-shared[i]))
	}
	buf = binary.AppendUvarint(buf, uint64(rest))
	for i := range n {
		buf = append(buf, g.ids.at(Index(i))[shared[i]:]...)
	}
	return buf
}

func sharedPrefix(a, b string) int {
	n := min(len(a), len(b))
	for k := range n {
		if a[k] != b[k] {
			return k
		}
	}
	return n
}

func (g *Graph) appendNeeds(buf []byte) []byte {
	buf = wire.AppendRuns(buf, g.Len(), func(i int) int64 { return int64(g.needsOff[i+1] - g.needsOff[i]) })
	for i := range g.attrs {
		prev := Index(0)
		for k, d := range g.Needs(Index(i)) {
			if k == 0 {
				buf = binary.AppendUvarint(buf, wire.Zigzag(int64(i)-int64(d)))
			} else {
				buf = binary.AppendUvarint(buf, uint64(d-prev))
			}
			prev = d
		}
	}
	return buf
}

// AppendTable writes distinct blobs; ReadTable is the inverse.
func AppendTable(buf []byte, blobs [][]byte) []byte {
	buf = binary.AppendUvarint(buf, uint64(len(blobs)))
	for _, p := range blobs {
		buf = binary.AppendUvarint(buf, uint64(len(p)))
	}
	for _, p := range blobs {
		buf = append(buf, p...)
	}
	return buf
}
