package flow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/placement"
	"github.com/roundsman/roundsman/jobtype"
)

// Ask is a request for the resources of one task. It is granted as a whole or
// not at all, and the task has it from before its first attempt until it ends,
// backoffs and lost workers in between included.
type Ask struct {
	// Number is unique in the run: what answers an earlier request of a task that
	// runs again must not count for the later one.
	Number int
	// Resources are quantities by pool; never empty.
	Resources map[string]int
	// Grace is how long an attempt may go on unnoticed after the run is gone.
	Grace time.Duration
}

// number is 0 for nil.
func (a *Ask) number() int {
	if a == nil {
		return 0
	}
	return a.Number
}

// spell names the quantities for people.
func (a *Ask) spell() string {
	parts := make([]string, 0, len(a.Resources))
	for _, pool := range slices.Sorted(maps.Keys(a.Resources)) {
		parts = append(parts, fmt.Sprintf("%d of pool %s", a.Resources[pool], pool))
	}
	return strings.Join(parts, ", ")
}

func (f *Flow) newAsk(t *task, number int) *Ask {
	grace := max(jobtype.Policy{}.WithDefaults().HeartbeatTimeout, t.definition.HeartbeatTimeout)
	if known, ok := f.cfg.JobTypes[t.definition.JobType]; ok {
		grace = max(grace, known.Policy.HeartbeatTimeout)
	}
	return &Ask{Number: number, Resources: t.definition.Resources, Grace: grace.Std()}
}

// ask makes a task wait for its resources. Its condition is known to be true. It
// has no place under the run's concurrency while it waits.
func (f *Flow) ask(t *task, now time.Time) {
	f.seq++
	t.seq = f.seq
	if f.blocked() {
		t.phase, t.queuedAt = phaseYielded, now
		f.yielded++
		return
	}
	f.asks++
	t.ask, t.phase = f.newAsk(t, f.asks), phaseResources
	f.decide(Decision{Kind: AskResources, Task: t.i, Ask: t.ask})
}

// Granted answers an [AskResources] decision. It counts if that request is the
// one that the task waits for.
func (f *Flow) Granted(now time.Time, id string, number int) []Decision {
	f.begin()
	if t := f.asking(id, number); t != nil {
		f.roll.progress = true
		f.seq++
		f.noteWait(placement.NoteResources, t, t.ask.spell(), t.startedAt, now)
		t.phase, t.seq, t.queuedAt = phaseGranted, f.seq, now
		f.must(dag.Event{Kind: dag.EventAdmit, Task: t.i}, now)
	}
	f.fireTimers(now)
	return f.advance(now)
}

// Refused answers an [AskResources] decision that can never be granted: the task
// fails with the reason.
func (f *Flow) Refused(now time.Time, id string, number int, reason string) []Decision {
	f.begin()
	if t := f.asking(id, number); t != nil {
		f.roll.progress = true
		f.fail(t, clip(reason), now)
	}
	f.fireTimers(now)
	return f.advance(now)
}

// asking is the task that waits for this request, or nil.
func (f *Flow) asking(id string, number int) *task {
	i, ok := f.run.Lookup(id)
	if !ok {
		return nil
	}
	if t := f.live[i]; t != nil && t.phase == phaseResources && t.ask.Number == number {
		return t
	}
	return nil
}

// useGranted lets tasks go on that got their resources and a place. A run that is
// paused or about to continue as new keeps both for later.
func (f *Flow) useGranted(now time.Time) {
	if len(f.granted) == 0 || f.roll.hold || f.run.Paused() {
		return
	}
	granted := f.granted
	f.granted = nil
	for _, i := range granted {
		if t := f.live[i]; t != nil && t.phase == phaseGranted && !f.run.Admitted(i) {
			t.startedAt = now
			f.act(t, now)
		}
	}
}

// blocked reports whether sub-DAGs have all places. The tasks of one may need the
// very resources that a task of this run would hold while it waits for the
// sub-DAG's place, and neither would ever go on; every other task that has a place
// ends by itself.
func (f *Flow) blocked() bool {
	limit := f.run.Options().Concurrency
	return limit > 0 && f.nested >= limit && f.nested == f.run.InFlight()
}

// makeWay gives back the resources of tasks that wait for a place while sub-DAGs
// have them all, and asks for them again when one has not.
func (f *Flow) makeWay(now time.Time) {
	switch blocked := f.blocked(); {
	case blocked && f.run.AtGate() > f.yielded:
		for _, i := range f.liveTasks() {
			if t := f.live[i]; t.phase == phaseGranted && f.run.Admitted(i) {
				f.must(dag.Event{Kind: dag.EventWithdraw, Task: i}, now)
				f.decide(Decision{Kind: ReleaseResources, Task: i, Ask: t.ask})
				t.ask, t.phase, t.queuedAt = nil, phaseYielded, now
				f.yielded++
			}
		}
	case !blocked && f.yielded > 0 && !f.roll.hold && !f.run.Paused():
		for _, i := range f.liveTasks() {
			if t := f.live[i]; t.phase == phaseYielded {
				f.yielded--
				f.ask(t, now)
			}
		}
	}
}

// starved says what the run waits for while nothing runs for want of resources.
// It looks at the tasks only if some task ever asked.
func (f *Flow) starved() string {
	if f.asks == 0 || f.inFlight > 0 {
		return ""
	}
	for _, i := range f.liveTasks() {
		if t := f.live[i]; t.phase == phaseResources {
			return "task " + f.run.ID(i) + " waits for resources: " + t.ask.spell()
		}
	}
	return ""
}
