package flow

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/nearest"
)

// RunWaits says what the run as a whole waits for, at most limit reasons, and how
// many more there are. Tasks that wait for the same are told once. While
// attempts run only what does not pass by itself is told: a person, a worker that
// is not there. It costs the tasks that have begun, never all tasks.
func (f *Flow) RunWaits(limit int) (waits []Wait, more int) {
	if !f.run.Started() {
		return []Wait{{Code: WaitStarting, Task: dag.None, Since: f.startedAt, Detail: "the run has not begun"}}, 0
	}
	var list []Wait
	switch {
	case f.run.Finished():
		return nil, 0
	case f.run.Held():
		list = append(list, f.heldWait())
	case f.run.Paused():
		list = append(list, f.pausedWait(dag.None))
	}
	tasks, running := f.waitsOfTasks()
	list = append(list, tasks...)
	if running == 0 && !f.run.Paused() && f.run.Count(dag.Ready) > 0 && !f.fullSince.IsZero() {
		crowded := f.crowded(dag.None)
		crowded.Detail = fmt.Sprintf("%d tasks are ready, and %s", f.run.Count(dag.Ready), crowded.Detail)
		list = append(list, crowded)
	}
	switch {
	case running > 0:
		list = slices.DeleteFunc(list, func(w Wait) bool { return w.Code.passes() })
	case len(list) == 0:
		list = append(list, Wait{Code: WaitStarting, Task: dag.None, Detail: "tasks are about to start; the run continues as new first"})
	}
	return list[:min(len(list), limit)], max(0, len(list)-limit)
}

// passes reports whether such a wait ends although nobody does anything.
func (c WaitCode) passes() bool {
	switch c {
	case WaitPaused, WaitHeld, WaitApproval, WaitNoWorker, WaitUnreachable, WaitCordoned:
		return false
	case WaitUpstream, WaitConcurrency, WaitResources, WaitSlots, WaitBackoff, WaitSleeping, WaitOutcome, WaitStarting:
	}
	return true
}

// waitsOfTasks tells what the tasks that have begun wait for, in the order in
// which they began to wait, and how many run.
func (f *Flow) waitsOfTasks() (list []Wait, running int) {
	type thing struct {
		code   WaitCode
		object string
		ask    int
	}
	known := map[thing]int{}
	for _, i := range f.liveTasks() {
		if f.live[i].phase == phaseRunning {
			running++
		}
		for _, w := range f.waitsOfLive(i, f.live[i]) {
			key := thing{w.Code, w.Object, w.Ask}
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
		who := "task " + f.run.ID(list[k].Task)
		if n := list[k].Tasks - 1; n > 0 {
			who += fmt.Sprintf(" and %d more", n)
		}
		list[k].Detail = who + ": " + list[k].Detail
	}
	return list, running
}

// heldWait is what a run waits for that is parked after a failure.
func (f *Flow) heldWait() Wait {
	var failed []string
	for i := range dag.Index(f.run.Len()) {
		if s := f.run.State(i); s == dag.Failed || s == dag.Canceled {
			failed = append(failed, f.run.ID(i))
		}
		if len(failed) > maxNamed {
			failed[maxNamed] = "…"
			break
		}
	}
	return Wait{
		Code: WaitHeld, Task: dag.None, Object: strings.Join(failed, ", "),
		Since: f.heldUntil.Add(-f.program.Header.HoldOnFailure.Std()), Until: f.heldUntil,
		Detail: fmt.Sprintf("tasks that failed: %d, blocked by them: %d; the run ends then unless somebody acts",
			f.run.Count(dag.Failed), f.run.Count(dag.UpstreamFailed)),
	}
}

// SubDAGs lists tasks whose attempt is a sub-DAG that runs, at most limit, and how
// many attempts run otherwise.
func (f *Flow) SubDAGs(limit int) (ids []string, others int) {
	for _, i := range f.liveTasks() {
		switch t := f.live[i]; {
		case t.phase != phaseRunning && t.phase != phaseRecalling:
		case t.definition.Kind != spec.KindDAG:
			others++
		case len(ids) < limit:
			ids = append(ids, f.run.ID(i))
		}
	}
	return ids, others
}

// Similar is the id of the task that was probably meant, or "". It compares at
// most the first 10,000 tasks.
func (f *Flow) Similar(id string) string {
	const most = 10_000
	return nearest.Among(id, func(yield func(string) bool) {
		for i := range dag.Index(min(f.run.Len(), most)) {
			if !yield(f.run.ID(i)) {
				return
			}
		}
	})
}
