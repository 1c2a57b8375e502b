package flow

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/placement"
)

// phase is what a task that dag.Run has started is doing.
type phase uint8

const (
	phaseNone phase = iota
	// phaseWaiting: for a worker.
	phaseWaiting
	// phaseBackoff: for its next attempt.
	phaseBackoff
	// phaseRunning: an attempt on a worker, in the control plane or as a sub-DAG.
	phaseRunning
	// phaseRecalling: its worker was lost, the outcome may still be delivered.
	phaseRecalling
	phaseSleeping
	phaseApproval
	// phaseLookup: its job type is being looked up.
	phaseLookup
	// phaseResources: its resources are asked for.
	phaseResources
	// phaseGranted: it has its resources, and waits for a place or is about to do
	// what its kind asks for.
	phaseGranted
	// phaseYielded: it has given its resources back, or has not asked for them,
	// while sub-DAGs have all places.
	phaseYielded
)

// task is a task that dag.Run has started and that has not ended.
type task struct {
	i          dag.Index
	definition *spec.Definition
	rendered   *spec.Rendered // nil for a plain noop
	class      *class         // nil for what needs no worker
	phase      phase
	// attempt counts those started, retries those after a failure, losses those
	// after a lost worker.
	attempt, retries, losses int
	// charged is the attempt that was counted as a retry last.
	charged int
	// fence is the newest attempt's on a worker; 0 before the first that this run of
	// the task has started.
	fence            int64
	worker, instance string
	// avoid is the worker on which it failed last.
	avoid string
	// until is when its backoff, sleep or approval is over.
	until time.Time
	// queuedAt is when it began to wait: for a worker, a place, its next attempt, or
	// the outcome of a lost one.
	queuedAt  time.Time
	startedAt time.Time
	canceling bool
	// insisted: a canceled sub-DAG was told to end at once.
	insisted bool
	lost     Ending
	// losing is the attempt that is being ended because its worker is given up.
	losing     int
	checkpoint json.RawMessage
	// note is why it is tried again.
	note string
	// ask is the request for its resources; nil if it needs none.
	ask *Ask
	seq int
}

// Ending is how an attempt ended.
type Ending struct {
	Failure placement.Failure
	Message string
	// Result of a success: a JSON object, or empty.
	Result json.RawMessage
	// Checkpoint is the last one known, for the next attempt.
	Checkpoint json.RawMessage
	// Worker that ran the attempt, Instance which process of it; empty if that is
	// not known.
	Worker, Instance string
	// Load is what the worker says that it runs for others.
	Load     placement.Report
	Duration time.Duration
}

// beginTask begins a task that dag.Run has started.
func (f *Flow) beginTask(i dag.Index, now time.Time) {
	if f.run.State(i) != dag.Running || f.live[i] != nil {
		return
	}
	t := &task{i: i, startedAt: now, attempt: f.book.attempts[i]}
	definition, err := f.program.Definition(i)
	if err != nil {
		f.fail(t, err.Error(), now)
		return
	}
	t.definition = definition
	f.live[i] = t
	if definition.Kind == spec.KindNoop && definition.When == "" && !wantsWorker(definition) && len(definition.Resources) == 0 {
		f.launch(t, Decision{Kind: StartNoop}, now)
		return
	}
	switch ok, err := f.render(t); {
	case err != nil:
		f.fail(t, err.Error(), now)
	case !ok:
		f.close(t, dag.Skipped)
		f.must(dag.Event{Kind: dag.EventSkipped, Task: i}, now)
	case len(definition.Resources) > 0:
		f.ask(t, now)
	default:
		f.act(t, now)
	}
}

// render fills in the templates; false: its condition is.
func (f *Flow) render(t *task) (bool, error) {
	rendered, err := f.program.Render(t.i, f.results.get)
	if err != nil {
		return false, err
	}
	t.rendered = rendered
	return rendered.Run, nil
}

// act does what the task's kind asks for.
func (f *Flow) act(t *task, now time.Time) {
	switch t.definition.Kind {
	case spec.KindNoop:
		if !wantsWorker(t.definition) {
			f.launch(t, Decision{Kind: StartNoop}, now)
			return
		}
		f.enqueue(t, now)
	case spec.KindCommand, spec.KindJobType:
		f.enqueue(t, now)
	case spec.KindSleep:
		t.attempt++
		t.phase, t.until = phaseSleeping, now.Add(t.definition.Sleep.Std())
		f.timers.push(timer{at: t.until, kind: timerSleep, task: t.i, attempt: t.attempt})
	case spec.KindApproval:
		t.attempt++
		t.phase = phaseApproval
		if limit := t.definition.Approval.Timeout.Std(); limit > 0 {
			t.until = now.Add(limit)
			f.timers.push(timer{at: t.until, kind: timerApproval, task: t.i, attempt: t.attempt})
		}
	case spec.KindDAG:
		graph, err := f.program.SubGraph(t.definition, t.rendered.Params)
		if err != nil {
			f.fail(t, err.Error(), now)
			return
		}
		f.launch(t, Decision{Kind: StartDAG, Graph: graph, Bytes: len(graph)}, now)
	default:
		f.fail(t, fmt.Sprintf("this program does not know tasks of kind %q", t.definition.Kind), now)
	}
}

// launch starts an attempt.
func (f *Flow) launch(t *task, d Decision, now time.Time) {
	t.attempt++
	t.phase, t.startedAt, t.until = phaseRunning, now, time.Time{}
	f.inFlight++
	if d.Kind == StartDAG {
		f.nested++
	}
	d.Task, d.Attempt = t.i, t.attempt
	if d.Kind != StartNoop {
		f.roll.room.Take(d.Bytes)
		f.roll.hold = f.roll.hold || f.roll.room.Full()
	}
	f.decide(d)
}

// leaveFlight gives back what a running or recalled attempt occupied.
func (f *Flow) leaveFlight(t *task) {
	if t.phase != phaseRunning && t.phase != phaseRecalling {
		return
	}
	f.inFlight--
	if t.definition.Kind == spec.KindDAG {
		f.nested--
	}
	if t.worker != "" && t.class != nil {
		f.fleet.Release(t.worker, t.instance, t.class.handler)
		f.unblock()
	}
}

// close forgets a task that has ended so, but for what people ask about it.
func (f *Flow) close(t *task, to dag.State) {
	f.leaveFlight(t)
	if t.ask != nil {
		f.decide(Decision{Kind: ReleaseResources, Task: t.i, Ask: t.ask})
	}
	if t.phase == phaseYielded {
		f.yielded--
	}
	f.book.note(t, to, f.run.Len())
	t.phase = phaseNone
	delete(f.live, t.i)
}

// fail ends a task badly.
func (f *Flow) fail(t *task, message string, now time.Time) {
	f.close(t, dag.Failed)
	f.book.fail(t.i, message)
	f.must(dag.Event{Kind: dag.EventFailed, Task: t.i}, now)
}

// succeed ends a task well, unless its result is more than can be kept or
// describes tasks that cannot be added: then it fails with that reason.
func (f *Flow) succeed(t *task, result []byte, now time.Time) {
	ev := dag.Event{Kind: dag.EventSucceeded, Task: t.i}
	growth, rest, err := spec.Split(f.run, t.i, result)
	if err == nil && f.refers {
		err = f.keep(t.i, rest)
	}
	if err != nil {
		f.fail(t, "it was done, but "+err.Error(), now)
		return
	}
	if !f.run.Ending() {
		ev.Growth = growth
	}
	f.close(t, dag.Succeeded)
	if err := f.feed(ev, now); err != nil {
		f.results.drop(t.i)
		f.book.fail(t.i, "it was done, but the tasks it returned cannot be added: "+err.Error())
		f.must(dag.Event{Kind: dag.EventFailed, Task: t.i}, now)
		return
	}
	f.book.clear(t.i)
	if ev.Growth != nil {
		f.grown()
	}
}

// grown looks whether added tasks refer to results.
func (f *Flow) grown() {
	if refers, err := anyReference(f.run, f.program); err == nil {
		f.refers = f.refers || refers
	}
}

// cancel ends a running task at once where nothing runs, else asks its attempt
// to end.
func (f *Flow) cancel(i dag.Index, now time.Time) {
	t := f.live[i]
	if t == nil {
		// dag.Run has started it in this very step.
		t = &task{i: i, attempt: f.book.attempts[i]}
	}
	if t.phase != phaseRunning {
		f.canceled(t, now)
		return
	}
	if t.canceling {
		return
	}
	t.canceling = true
	f.decide(Decision{Kind: Cancel, Task: i, Attempt: t.attempt})
	if t.class != nil {
		limit := f.policy(t.class).HeartbeatTimeout.Std() + placement.CancelPatience
		f.timers.push(timer{at: now.Add(limit), kind: timerForget, task: i, attempt: t.attempt})
	}
}

func (f *Flow) canceled(t *task, now time.Time) {
	f.close(t, dag.Canceled)
	f.must(dag.Event{Kind: dag.EventCanceled, Task: t.i}, now)
}

// forget goes on without the end of a canceled attempt.
func (f *Flow) forget(t *task, now time.Time) {
	if !t.canceling {
		return
	}
	f.decide(Decision{Kind: Forget, Task: t.i, Attempt: t.attempt})
	worker := t.worker
	f.canceled(t, now)
	f.book.fail(t.i, "canceled; its handler on "+worker+" did not stop and may still run")
}

// maxMessage bounds what is kept of one failure.
const maxMessage = 512

func clip(message string) string {
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	return message
}
