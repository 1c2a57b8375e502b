// Package origin stores the earlier run that produced each imported task.
package origin

import (
	"encoding/binary"

	"github.com/roundsman/roundsman/dag/internal/graph"
	"github.com/roundsman/roundsman/dag/internal/wire"
)

// MaxRunIDLength bounds the id of an earlier run, in bytes.
const MaxRunIDLength = 1024

// maxRuns bounds the number of earlier runs of one run.
const maxRuns = 1<<16 - 2

// Runs holds the origin of each task. The zero value is a run without imports.
type Runs struct {
	ids     []string // distinct run ids
	of      []uint16 // per task: 1 + index into ids, 0 for this run; nil without imports
	numbers map[string]uint16
}

// Of returns the run of task i; empty for this run.
func (r *Runs) Of(i graph.Index) string {
	if r.of == nil || r.of[i] == 0 {
		return ""
	}
	return r.ids[r.of[i]-1]
}

// Set makes run the origin of task i of n tasks.
func (r *Runs) Set(i graph.Index, n int, run string) {
	if r.of == nil {
		r.of, r.numbers = make([]uint16, n), map[string]uint16{}
	}
	number, ok := r.numbers[run]
	if !ok && len(r.ids) < maxRuns {
		r.ids = append(r.ids, run)
		number = uint16(len(r.ids))
		r.numbers[run] = number
	}
	r.of[i] = number
}

// Extend appends n tasks of this run.
func (r *Runs) Extend(n int) {
	if r.of != nil {
		r.of = append(r.of, make([]uint16, n)...)
	}
}

// Clear makes task i a task of this run.
func (r *Runs) Clear(i graph.Index) {
	if r.of != nil {
		r.of[i] = 0
	}
}

// AppendTo encodes the origins of n tasks.
func (r *Runs) AppendTo(buf []byte, n int) []byte {
	buf = binary.AppendUvarint(buf, uint64(len(r.ids)))
	for _, id := range r.ids {
		buf = wire.AppendBytes(buf, []byte(id))
	}
	if len(r.ids) == 0 {
		return buf
	}
	return wire.AppendRuns(buf, n, func(i int) int64 { return int64(r.of[i]) })
}

// Read is the inverse of AppendTo.
func Read(in *wire.Reader, tasks int) Runs {
	n := in.Count(min(in.Left(), maxRuns), "earlier runs")
	if n == 0 || in.Err() != nil {
		return Runs{}
	}
	r := Runs{of: make([]uint16, tasks)}
	for range n {
		id := in.Bytes("run id")
		if len(id) == 0 || len(id) > MaxRunIDLength {
			in.Fail("the id of an earlier run is malformed")
			return Runs{}
		}
		r.ids = append(r.ids, string(id))
	}
	in.Runs(tasks, 0, int64(n), func(i int, v int64) { r.of[i] = uint16(v) })
	return r
}
