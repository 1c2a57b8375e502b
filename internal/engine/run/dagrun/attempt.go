package dagrun

import (
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/jobtype"
)

func (g *Graph) pass(d *run.Decision, now time.Time) {
	t := g.live[dag.Index(d.Item)] //nolint:gosec // items are tasks
	switch d.Kind {                //nolint:exhaustive // the others are about a task
	case run.Watch, run.Probe, run.ReportTrouble, run.ClearTrouble:
		t = nil // They are about workers.
	}
	if t == nil {
		g.do(*d)
		return
	}
	switch d.Kind { //nolint:exhaustive // the others are only passed on
	case run.Start:
		g.start(t, d, now)
		return
	case run.Cancel:
		if t.phase == phaseSleeping || t.phase == phaseApproval {
			g.endIdle(t, run.Ending{Failure: contract.FailureCanceled}, now)
			return
		}
	case run.Acquire:
		t.asking = true
		g.gate.count(t)
		// Tasks are requested in the order in which they may start, so all have the same priority.
		g.do(source.Acquire{Decision: *d, Priority: jobtype.PriorityNormal, Grace: g.grace(t)})
		return
	case run.Release:
		g.released(t, now)
	}
	g.do(*d)
}

func (g *Graph) start(t *task, d *run.Decision, now time.Time) {
	t.beganAt = now
	switch kind := t.definition.Kind; {
	case kind == spec.KindSleep:
		g.idle(t, phaseSleeping, t.definition.Sleep.Std(), now)
	case kind == spec.KindApproval:
		g.idle(t, phaseApproval, t.definition.Approval.Timeout.Std(), now)
	case kind == spec.KindDAG:
		graph, err := g.program.SubGraph(t.definition, t.rendered.Params)
		if err != nil {
			g.engine.Apply(now, run.Ended{Item: d.Item, Attempt: d.Attempt, Ending: run.Ending{Failure: contract.FailurePermanent, Message: err.Error()}})
			return
		}
		d.Bytes = len(graph)
		g.do(StartDAG{*d, graph})
	case !wantsWorker(t.definition):
		g.do(StartNoop{*d})
	default:
		g.do(StartJob{*d, g.job(t)})
	}
}

func (g *tasks) job(t *task) Job {
	job := Job{Handler: CommandHandler, Params: encodeParams(t.rendered.Params), Policy: g.engine.Work(g.shapeOf(t.definition).work).Policy}
	switch t.definition.Kind {
	case spec.KindJobType:
		job.JobType, job.Handler = t.definition.JobType, g.cfg.JobTypes[t.definition.JobType].Handler
	case spec.KindCommand:
		job.Command, job.Launch = t.rendered.Command, encodeParams(literal(t.rendered.Launch))
	case spec.KindNoop:
		job.Command = []string{"true"}
	case spec.KindSleep, spec.KindApproval, spec.KindDAG, spec.KindFanOut:
	}
	if own := t.definition.HeartbeatTimeout; own > 0 {
		job.Policy.HeartbeatTimeout, job.Policy.StallTimeout = own, own
	}
	return job
}

// idle begins a wait that the graph ends itself; without a limit only a person does.
func (g *waits) idle(t *task, what phase, limit time.Duration, now time.Time) {
	t.phase = what
	if limit > 0 || what == phaseSleeping {
		t.until = now.Add(limit)
		g.timers.Push(timer{at: t.until, kind: timerIdle, task: t.i})
	}
}

func (g *tasks) endIdle(t *task, end run.Ending, now time.Time) {
	id := int(t.i)
	if v, ok := g.engine.View(id); ok {
		g.engine.Apply(now, run.Ended{Item: id, Attempt: v.Attempt, Ending: end})
	}
}

func (g *Graph) take(r *run.Report, now time.Time) {
	t := g.live[dag.Index(r.Item)] //nolint:gosec // items are tasks
	if t == nil {
		return
	}
	switch r.Kind {
	case run.Admitted:
		if !g.takeOver(t, r.Known, now) {
			g.admit(t, now)
		}
	case run.Settled:
		if r.Ending.Failure == contract.FailureWorkerLost {
			g.lostWorker(t, r, now)
		}
		g.settle(t, r, now)
	case run.Crowded:
		g.must(dag.Event{Kind: dag.EventCrowded, Task: t.i}, now)
	case run.Deferred:
		g.deferred(t, r, now)
	case run.Due:
		g.due(t, now)
	case run.AttemptFailed:
		g.noteEnding(t, true, r.Attempt, r.Message, now)
	}
}

// Under recovery: fail only tasks with the rule always still run.
func (g *Graph) lostWorker(t *task, r *run.Report, now time.Time) {
	if g.run.Ending() {
		return
	}
	detail := explain.TextLost("task "+g.run.ID(t.i), r.Worker, r.Message)
	g.lost, g.reason = true, clip(string(contract.CodeWorkerLost)+": "+detail)
	g.engine.Note(run.Note{Verdict: run.Terminated, Code: contract.CodeWorkerLost, Item: run.WholeRun, Detail: detail})
	g.must(dag.Event{Kind: dag.EventDeadline}, now)
	g.ending()
}

func (g *Graph) settle(t *task, r *run.Report, now time.Time) {
	g.book.setWorker(t.i, r.Worker, g.run.Len())
	switch r.State {
	case run.Completed:
		g.book.execute(t.i)
		g.succeed(t, r.Attempt, r.Ending.Result, r.Message, now)
	case run.Canceled:
		g.canceled(t, r.Attempt, g.whyCanceled(t, r), now)
	case run.Open, run.Failed, run.Stale, run.Expired, run.NotStarted:
		g.fail(t, r.Attempt, r.Message, now)
	}
}

// The reason is empty for a request of this graph whose handler has ended.
func (g *Graph) whyCanceled(t *task, r *run.Report) string {
	switch {
	case !g.run.Canceling(t.i):
		return explain.TextOutside + r.Message
	case r.Message != canceledHere:
		return r.Message
	}
	return ""
}

func (g *Graph) close(t *task, to dag.State, attempts int, message string) {
	g.noteTimes(t)
	t.phase, t.placed, t.asking, t.admitted = phaseNone, false, false, false
	g.gate.count(t)
	g.book.setAttempts(t.i, to, attempts)
	if message != "" {
		g.book.fail(t.i, message)
	}
	delete(g.live, t.i)
}

func (g *Graph) fail(t *task, attempts int, message string, now time.Time) {
	g.close(t, dag.Failed, attempts, message)
	g.must(dag.Event{Kind: dag.EventFailed, Task: t.i}, now)
}

func (g *Graph) canceled(t *task, attempts int, message string, now time.Time) {
	g.close(t, dag.Canceled, attempts, message)
	g.must(dag.Event{Kind: dag.EventCanceled, Task: t.i}, now)
}

func (g *Graph) cancel(i dag.Index, now time.Time) {
	t := g.live[i]
	if t == nil {
		t = &task{i: i} // dag.Run has started it in this very step.
	}
	if t.phase == phaseNone || t.phase == phaseLookup || t.phase == phaseYielded {
		g.canceled(t, g.book.attempts[i], "", now)
		return
	}
	g.engine.Cancel(now, int(i), canceledHere)
}
