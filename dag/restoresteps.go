package dag

import (
	"slices"

	"github.com/roundsman/roundsman/dag/internal/graph"
	"github.com/roundsman/roundsman/dag/internal/wire"
)

type replayedSteps struct {
	list           []redefinition // not applied yet
	payloads, args []uint64
}

func readSteps(in *wire.Reader) replayedSteps {
	var s replayedSteps
	n, after := in.Count(in.Left(), "redefinitions"), 0
	for range n {
		after += in.Count(MaxTasks, "batches before a redefinition")
		d := redefinition{after: after, task: Index(in.Count(MaxTasks, "task")), parent: Index(in.Count(MaxTasks, "splitter")) - 1}
		d.attr, d.priority = attr(in.Byte(uint8(graph.AttrMax)+1, "attribute")), in.Int32()
		s.payloads, s.args = append(s.payloads, in.Uvarint()), append(s.args, in.Uvarint())
		d.needs, d.before = row(in, MaxTasks), row(in, MaxTasks)
		if in.Err() != nil {
			return s
		}
		s.list = append(s.list, d)
	}
	if n == 0 {
		in.Fail("the redefinitions are missing")
	}
	return s
}

func (s *replayedSteps) carryOut(r *Run, in *wire.Reader, after int) {
	for len(s.list) > 0 && s.list[0].after == after && in.Err() == nil {
		n, seen := 0, map[Index]bool{}
		for ; n < len(s.list) && s.list[n].after == after && !seen[s.list[n].task]; n++ {
			if d := &s.list[n]; !r.redefinable(d) {
				in.Fail("the redefinition of task %d is malformed", d.task)
				return
			}
			seen[s.list[n].task] = true
		}
		r.redefine(s.list[:n])
		s.list = s.list[n:]
	}
}

func (defs *definitions) redefinable(d *redefinition) bool {
	most := Index(defs.Len())
	for _, i := range slices.Concat(d.needs, d.before) {
		if i >= most || i == d.task {
			return false
		}
	}
	return d.task < most && d.parent < most && !d.attr.FanOut() && !defs.IsFanOut(d.task) && defs.Under(d.task) == None &&
		(d.attr.Rule() != OneFailed || len(d.needs) > 0) &&
		(d.parent == None || defs.AddedBy(d.task) == d.parent)
}
