package flow

import (
	"slices"
	"time"

	"github.com/roundsman/roundsman/dag"
)

// loseGone gives up what still counts as running on a worker that the registry
// has given up: OFFLINE without a sign of life, or an incarnation that lost the
// id to another one. Most such attempts have timed out by their heartbeat long
// before; this ends the others, those with a heartbeat timeout beyond the
// registry's thresholds and those of a fenced worker that is still alive.
//
// A running attempt keeps its activity until the server has ended that: two
// activities of one task cannot be open at once.
func (f *Flow) loseGone(now time.Time) {
	for _, i := range f.onGoneWorkers() {
		t := f.live[i]
		if t == nil {
			continue
		}
		why := f.fleet.Gone(t.worker, t.instance)
		switch {
		case t.phase == phaseRecalling:
			t.lost.Message = why
			f.lose(t, now)
		case t.phase == phaseRunning && t.losing != t.attempt:
			t.losing = t.attempt
			f.decide(Decision{Kind: Lose, Task: i, Attempt: t.attempt, ID: t.worker, Instance: t.instance, Reason: why})
		}
	}
}

// onGoneWorkers lists the tasks whose attempt is on a worker that is given up, in
// declaration order.
func (f *Flow) onGoneWorkers() []dag.Index {
	var list []dag.Index
	//workflowcheck:ignore sorted right below
	for i, t := range f.live {
		if (t.phase == phaseRunning || t.phase == phaseRecalling) && t.instance != "" && f.fleet.Gone(t.worker, t.instance) != "" {
			list = append(list, i)
		}
	}
	slices.Sort(list)
	return list
}
