package graph

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"

	"github.com/roundsman/roundsman/dag/internal/wire"
)

// Decode is the inverse of [Graph.Encode]. It accepts only canonical encodings of valid graphs. The error wraps
// [wire.ErrCorrupt] or [wire.ErrVersion]. The length of data bounds its memory (ids expand to at most MaxIDLength
// each). The graph keeps data; do not modify it.
func Decode(data []byte) (*Graph, error) {
	r, err := wire.Unseal(data, graphMagic)
	if err != nil {
		return nil, err
	}
	g := &Graph{}
	n := r.Count(min(MaxTasks, r.Left()), "tasks")
	edges := r.Count(min(MaxEdges, r.Left()), "dependencies")
	if meta := r.Bytes("meta"); len(meta) > 0 {
		g.meta = meta
	}
	g.readIDs(r, n)
	g.readNeeds(r, n, edges)
	g.readAttributes(r, n)
	g.readBlobs(r)
	g.readAttachments(r)
	if err := r.End(); err != nil {
		return nil, err
	}
	g.deps, g.depsOff = transpose(g.needs, g.needsOff)
	if !acyclic(g) {
		return nil, fmt.Errorf("%w: the dependencies form a cycle", wire.ErrCorrupt)
	}
	g.order()
	g.keepOnce(data)
	return g, nil
}

func (g *Graph) readIDs(r *wire.Reader, n int) {
	if 2*n > r.Left() { // two bytes per id are the least
		r.Fail("%d ids do not fit", n)
		return
	}
	shared := make([]uint8, n)
	lengths := make([]uint8, n)
	for i := range shared {
		shared[i] = uint8(r.Count(MaxIDLength, "shared bytes"))
	}
	total := 0
	for i := range lengths {
		lengths[i] = uint8(r.Count(MaxIDLength-int(shared[i]), "bytes of an id"))
		total += int(shared[i]) + int(lengths[i])
	}
	rest := r.Bytes("ids")
	if total > maxIDBytes {
		r.Fail("%d bytes of ids; the limit is %d", total, maxIDBytes)
	}
	if r.Err() == nil {
		g.joinIDs(r, shared, lengths, rest, total)
	}
}

func (g *Graph) joinIDs(r *wire.Reader, shared, lengths []uint8, rest []byte, total int) {
	text := make([]byte, 0, total)
	off := make([]uint32, len(shared)+1)
	prev := 0
	for i := range shared {
		share, length := int(shared[i]), int(lengths[i])
		start := len(text)
		if share > start-prev || length > len(rest) || share+length == 0 {
			r.Fail("id %d is malformed", i)
			return
		}
		if share < start-prev && length > 0 && text[prev+share] == rest[0] {
			r.Fail("id %d is not in its shortest form", i)
			return
		}
		text = append(text, text[prev:prev+share]...)
		text = append(text, rest[:length]...)
		rest = rest[length:]
		off[i+1] = uint32(len(text))
		prev = start
	}
	if len(rest) > 0 {
		r.Fail("%d bytes of ids too many", len(rest))
		return
	}
	g.ids = newIDTable(string(text), off, func(first, second Index) {
		r.Fail("tasks %d and %d have the same id", first, second)
	})
}

func (g *Graph) readNeeds(r *wire.Reader, n, edges int) {
	if r.Err() != nil {
		return
	}
	g.needsOff = make([]uint32, n+1)
	total := int64(0)
	r.Runs(n, 0, int64(edges), func(i int, v int64) {
		total += v
		g.needsOff[i+1] = uint32(min(total, math.MaxUint32))
	})
	if r.Err() == nil && (total != int64(edges) || edges > r.Left()) {
		r.Fail("%d dependencies are announced, %d follow", edges, total)
	}
	if r.Err() != nil {
		return
	}
	g.needs = make([]Index, edges)
	for i := range n {
		row := g.needs[g.needsOff[i]:g.needsOff[i+1]]
		g.readRow(r, row, int64(i), int64(n))
		if r.Err() != nil {
			return
		}
	}
}

func (g *Graph) readRow(r *wire.Reader, row []Index, i, n int64) {
	prev := int64(0)
	for k := range row {
		var d int64
		v := r.Uvarint()
		switch {
		case v > 2*MaxTasks:
			d = -1
		case k == 0:
			d = i - wire.Unzigzag(v)
		case v > 0:
			d = prev + int64(v)
		default:
			d = -1
		}
		if d < 0 || d >= n || d == i {
			r.Fail("a dependency of task %d is malformed", i)
			return
		}
		row[k] = Index(d)
		prev = d
	}
}

func (g *Graph) readAttributes(r *wire.Reader, n int) {
	if r.Err() != nil {
		return
	}
	g.attrs = make([]Attr, n)
	column := func(low, high, absent int64) []int32 {
		var col []int32
		r.Runs(n, low, high, func(i int, v int64) {
			if col == nil && v != absent {
				col = make([]int32, n)
				for k := range i {
					col[k] = int32(absent)
				}
			}
			if col != nil {
				col[i] = int32(v)
			}
		})
		return col
	}
	g.priority = column(math.MinInt32, math.MaxInt32, 0)
	r.Runs(n, 0, int64(AttrMax), func(i int, v int64) { g.attrs[i] = Attr(v) })
	for i, a := range g.attrs {
		if a.Rule() == OneFailed && r.Err() == nil && g.needsOff[i] == g.needsOff[i+1] {
			r.Fail("task %d has the rule one_failed and no dependencies", i)
		}
	}
	g.payload = column(-1, math.MaxInt32, -1)
	g.args = column(-1, math.MaxInt32, -1)
}

// The columns must use all payloads, in the order of first use.
func (g *Graph) readBlobs(r *wire.Reader) {
	g.blobs = ReadTable(r, "payloads")
	if r.Err() != nil {
		return
	}
	known := make(map[string]struct{}, len(g.blobs))
	for _, p := range g.blobs {
		known[string(p)] = struct{}{}
	}
	if len(known) != len(g.blobs) {
		r.Fail("a payload is stored twice")
		return
	}
	next := int32(0)
	for _, column := range [][]int32{g.payload, g.args} {
		for _, v := range column {
			if v > next {
				r.Fail("payload %d comes before %d", v, next)
				return
			}
			if v == next {
				next++
			}
		}
	}
	if int(next) != len(g.blobs) {
		r.Fail("%d payloads are stored, %d are used", len(g.blobs), next)
	}
}

func (g *Graph) readAttachments(r *wire.Reader) {
	g.attachments = ReadTable(r, "attachments")
	for k, p := range g.attachments {
		sum := sha256.Sum256(p)
		if k > 0 && bytes.Compare(g.attachIDs[k-1][:], sum[:]) >= 0 {
			r.Fail("the attachments are not in order")
			return
		}
		g.attachIDs = append(g.attachIDs, sum)
	}
}

// ReadTable reads a table of distinct blobs.
func ReadTable(r *wire.Reader, what string) [][]byte {
	n := r.Count(r.Left(), what)
	if n == 0 || r.Err() != nil {
		return nil
	}
	lengths := make([]int, n)
	for k := range lengths {
		lengths[k] = r.Count(r.Left(), "bytes")
	}
	blobs := make([][]byte, n)
	for k, length := range lengths {
		blobs[k] = r.Take(length)
	}
	return blobs
}
