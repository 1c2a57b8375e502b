package dagrun

import (
	"strings"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/lib/suggest"
)

// RunWaits returns at most limit waits of the run as a whole, and the number of the others. Its cost grows with the
// begun tasks only.
func (g *waits) RunWaits(limit int) (waits []Wait, more int) {
	if !g.run.Started() {
		return []Wait{g.notBegun(dag.None)}, 0
	}
	var list []Wait
	switch {
	case g.run.Finished():
		return nil, 0
	case g.run.Held():
		list = append(list, g.heldWait())
	case g.run.Paused():
		list = append(list, g.pausedWait(dag.None))
	}
	if n := len(g.starts); n > 0 && g.lane.State == laneRequested {
		list = append(list, Wait{Wait: g.laneWait(), Task: dag.None, Tasks: n})
	}
	tasks, running := g.waitsOfTasks()
	list = append(list, tasks...)
	ready := g.run.Count(dag.Ready)
	for _, c := range g.run.Chains() {
		if g.run.Paused() || !c.Full() || c.Ready == 0 {
			continue
		}
		w := g.itemWait(c, dag.None)
		w.Tasks, w.Detail = c.Ready, explain.TextItemsWait(c.Waiting, w.Detail)
		list = append(list, w)
		ready -= c.Ready
	}
	for _, f := range g.run.FanOuts() {
		if g.run.Paused() || !f.Full() || f.Ready == 0 {
			continue
		}
		w := g.fanOutWait(f, dag.None)
		w.Tasks, w.Detail = f.Ready, explain.TextReady(f.Ready, w.Detail)
		list = append(list, w)
		ready -= f.Ready
	}
	if !g.run.Paused() && ready > 0 && !g.fullSince.IsZero() {
		crowded := g.crowded(dag.None)
		crowded.Tasks = ready
		crowded.Detail = explain.TextReady(crowded.Tasks, crowded.Detail)
		list = append(list, crowded)
	}
	if running == 0 && len(list) == 0 {
		list = append(list, Wait{Wait: run.Wait{Code: contract.CodeStarting, Detail: explain.TextRolls}, Task: dag.None})
	}
	return list[:min(len(list), limit)], max(0, len(list)-limit)
}

func (g *waits) waitsOfTasks() (list []Wait, running int) {
	type thing struct {
		code          contract.Code
		object, needs string
	}
	known := map[thing]int{}
	for _, t := range g.begun() {
		if g.runs(t) {
			running++
		}
		for _, w := range g.waitsOfBegun(t) {
			key := thing{code: w.Code, object: w.Object}
			if w.Ask > 0 {
				key.needs = w.Detail
			}
			at, told := known[key]
			if !told {
				at = len(list)
				known[key] = at
				list = append(list, w)
			}
			if list[at].Tasks++; w.Until.Before(list[at].Until) {
				list[at].Until = w.Until
			}
		}
	}
	for k := range list {
		list[k].Detail = explain.TextOfTask(g.run.ID(list[k].Task), list[k].Tasks-1, list[k].Detail)
	}
	return list, running
}

func (g *waits) heldWait() Wait {
	var failed []string
	for i := range dag.Index(g.run.Len()) {
		if s := g.run.State(i); s == dag.Failed || s == dag.Canceled {
			failed = append(failed, g.run.ID(i))
		}
		if len(failed) > maxNamed {
			failed[maxNamed] = "…"
			break
		}
	}
	return Wait{Task: dag.None, Wait: run.Wait{
		Code: contract.CodeParked, Object: strings.Join(failed, ", "),
		Since: g.heldUntil.Add(-g.program.Header.HoldOnFailure.Std()), Until: g.heldUntil,
		Detail: explain.TextParked(g.run.Count(dag.Failed), g.run.Count(dag.UpstreamFailed)),
	}}
}

// SubDAGs lists at most limit tasks with a running sub-DAG, and counts the other running attempts.
func (g *tasks) SubDAGs(limit int) (ids []string, others int) {
	for _, t := range g.begun() {
		item, ok := g.engine.View(int(t.i))
		switch {
		case !ok || item.Idle || item.Phase != run.PhaseRunning && item.Phase != run.PhaseGrace:
		case t.definition.Kind != spec.KindDAG:
			others++
		case len(ids) < limit:
			ids = append(ids, g.run.ID(t.i))
		}
	}
	return ids, others
}

// Similar is the id of the task that was probably meant, among the first 10,000.
func (g *views) Similar(id string) string {
	const most = 10_000
	return suggest.Among(id, func(yield func(string) bool) {
		for i := range dag.Index(min(g.run.Len(), most)) {
			if !yield(g.run.ID(i)) {
				return
			}
		}
	})
}
