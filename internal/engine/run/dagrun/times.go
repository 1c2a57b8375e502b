package dagrun

import (
	"encoding/binary"
	"time"

	"github.com/roundsman/roundsman/dag"
)

// MaxTimed bounds the tasks of a run that keeps times: those of 100,000 tasks are 1 MB in
// each state.
const MaxTimed = 20_000

// span is an ended task's last attempt, in milliseconds since the start of the run.
// Begin is -1 for a task that never began.
type span struct{ begin, end int64 }

// times returns the begin and end of an ended task; zero if unknown.
func (g *Graph) times(i dag.Index) (begin, end time.Time) {
	s, ok := g.book.times[i]
	if !ok || !g.run.State(i).Terminal() {
		return begin, end
	}
	if s.begin >= 0 {
		begin = g.startedAt.Add(time.Duration(s.begin) * time.Millisecond)
	}
	return begin, g.startedAt.Add(time.Duration(s.end) * time.Millisecond)
}

// noteTimes records the last attempt of a task that ends now.
func (g *Graph) noteTimes(t *task) {
	if g.run.Len() > MaxTimed {
		g.book.times = nil
		return
	}
	begin := t.beganAt
	if t.phase == phaseSleeping || t.phase == phaseApproval {
		begin = t.startedAt
	}
	s := span{begin: -1, end: g.now.Sub(g.startedAt).Milliseconds()}
	if !begin.IsZero() {
		s.begin = begin.Sub(g.startedAt).Milliseconds()
	}
	if g.book.times == nil {
		g.book.times = map[dag.Index]span{}
	}
	g.book.times[t.i] = s
}

// encodeTimes writes the times in the order of the tasks: the distance to the one before,
// the begin and the duration.
func (b *book) encodeTimes(tasks int) []byte {
	var data []byte
	last := dag.Index(0)
	for i := range dag.Index(tasks) { //nolint:gosec // a number of tasks
		if s, ok := b.times[i]; ok {
			data = binary.AppendUvarint(data, uint64(i-last)) //nolint:gosec // it grows
			data = binary.AppendVarint(data, s.begin)
			data = binary.AppendVarint(data, s.end-max(s.begin, 0))
			last = i
		}
	}
	return data
}

// decodeTimes is the inverse of encodeTimes. Bytes that are no times are left out.
func (b *book) decodeTimes(data []byte, tasks int) {
	i := uint64(0)
	for len(data) > 0 {
		step, n := binary.Uvarint(data)
		begin, m := binary.Varint(data[max(n, 0):])
		took, k := binary.Varint(data[max(n, 0)+max(m, 0):])
		if i += step; n <= 0 || m <= 0 || k <= 0 || i >= uint64(tasks) { //nolint:gosec // a number of tasks
			return
		}
		data = data[n+m+k:]
		if b.times == nil {
			b.times = map[dag.Index]span{}
		}
		b.times[dag.Index(i)] = span{begin: begin, end: max(begin, 0) + took} //nolint:gosec // below tasks
	}
}
