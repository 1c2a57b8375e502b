package dagrun

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"github.com/roundsman/roundsman/dag"
)

// MaxTimed bounds a state: the times of 100,000 tasks would be 1 MB in each state.
const MaxTimed = 20_000

// span is an ended task's last attempt, in milliseconds since the start of the run. Begin may be [unbegun] or [moved].
type span struct{ begin, end int64 }

// unbegun: the task never began. moved: it was not under way when its state changed.
const (
	unbegun = -1
	moved   = -2
)

// creation is when the tasks from one on were added, in milliseconds since the start of the run.
type creation struct {
	From dag.Index `json:"f"`
	At   int64     `json:"a"`
}

func (g *records) noteCreation(from dag.Index, now time.Time) {
	g.book.created = append(g.book.created, creation{from, now.Sub(g.startedAt).Milliseconds()})
}

func (g *records) createdAt(i dag.Index) time.Time {
	later, _ := slices.BinarySearchFunc(g.book.created, i+1, func(c creation, i dag.Index) int { return cmp.Compare(c.From, i) })
	if later == 0 {
		return g.startedAt
	}
	return g.at(g.book.created[later-1].At)
}

func (g *records) modifiedAt(i dag.Index) time.Time {
	if s, ok := g.book.times[i]; ok {
		return g.at(s.end)
	}
	if g.run.Len() > MaxTimed && g.run.State(i).Terminal() {
		return time.Time{}
	}
	return g.createdAt(i)
}

func (g *records) at(ms int64) time.Time {
	return g.startedAt.Add(time.Duration(ms) * time.Millisecond)
}

func (g *records) noteMoves(moves []dag.Transition, now time.Time) {
	for _, m := range moves {
		if m.To != dag.Running && (m.From != dag.Running || !m.To.Terminal()) {
			begin := int64(moved)
			if last, ended := g.book.times[m.Task]; ended && m.To.Terminal() {
				begin = last.begin // An ended task is skipped.
			}
			g.noteSpan(m.Task, span{begin: begin, end: now.Sub(g.startedAt).Milliseconds()})
		}
	}
}

func (g *records) times(i dag.Index) (begin, end time.Time) {
	s, ok := g.book.times[i]
	if !ok || s.begin == moved || !g.run.State(i).Terminal() {
		return begin, end
	}
	if s.begin >= 0 {
		begin = g.at(s.begin)
	}
	return begin, g.at(s.end)
}

func (g *tasks) noteTimes(t *task) {
	begin := t.beganAt
	if t.phase == phaseSleeping || t.phase == phaseApproval {
		begin = t.startedAt
	}
	s := span{begin: unbegun, end: g.now.Sub(g.startedAt).Milliseconds()}
	if !begin.IsZero() {
		s.begin = begin.Sub(g.startedAt).Milliseconds()
	}
	g.noteSpan(t.i, s)
}

func (g *records) noteSpan(i dag.Index, s span) {
	if g.run.Len() > MaxTimed {
		g.book.times = nil
		return
	}
	if g.book.times == nil {
		g.book.times = map[dag.Index]span{}
	}
	g.book.times[i] = s
}

// encodeTimes writes the distance to the task before, the begin and the duration.
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

// decodeTimes omits bytes that are no times.
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
