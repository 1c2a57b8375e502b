package dagrun

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/run"
)

type phase uint8

const (
	phaseNone phase = iota
	phaseOffered
	phaseLookup
	// phaseYielded: it waits for a place that is not held by a waiting task, and holds no resources meanwhile.
	phaseYielded
	// phaseSleeping, phaseApproval: the engine has it as an idle item.
	phaseSleeping
	phaseApproval
)

type task struct {
	i          dag.Index
	definition *spec.Definition
	rendered   *spec.Rendered // nil for a plain noop
	phase      phase
	// placed: it has its place, or needs none. admitted: it has its resources and waits for that place.
	placed, admitted, asking bool
	stuck                    bool
	insisted                 bool
	startedAt, until         time.Time
	beganAt                  time.Time
	seq                      int64
}

type shape struct {
	work  string
	want  run.Want
	needs run.Needs
	retry *run.Retry
	// plain: a noop that nothing has to be rendered for.
	plain bool
}

// maxBackoff caps every back-off.
const maxBackoff = 24 * time.Hour

func (g *catalog) shapeOf(d *spec.Definition) *shape {
	if s := g.shapes[d]; s != nil {
		return s
	}
	s := &shape{work: workNone, needs: run.Needs{Pools: d.Resources}, retry: &run.Retry{}}
	switch {
	case d.Kind == spec.KindJobType:
		s.work, s.retry = d.JobType, nil
	case wantsWorker(d):
		s.work = workCommand
	default:
		s.want = run.Want{Nowhere: true, Idle: d.Kind == spec.KindSleep || d.Kind == spec.KindApproval}
		s.plain = d.Kind == spec.KindNoop && d.When == "" && len(d.Exclusive)+len(d.Shared)+len(d.Key) == 0
	}
	if own := d.Retries; own != nil {
		s.retry = &run.Retry{Limit: own.Limit, Backoff: min(own.Backoff.Std(), maxBackoff), MaxBackoff: min(own.MaxBackoff.Std(), maxBackoff)}
	}
	g.shapes[d] = s
	return s
}

func wantsWorker(d *spec.Definition) bool {
	switch d.Kind {
	case spec.KindCommand, spec.KindJobType:
		return true
	case spec.KindNoop:
		return d.Node != "" || len(d.Labels) > 0
	case spec.KindSleep, spec.KindApproval, spec.KindDAG, spec.KindFanOut:
	}
	return false
}

func (g *Graph) beginTask(i dag.Index, now time.Time) {
	if g.run.State(i) != dag.Running || g.live[i] != nil {
		return
	}
	definition, err := g.program.Definition(i)
	if err != nil {
		g.fail(&task{i: i}, g.book.attempts[i], err.Error(), now)
		return
	}
	if definition.Kind == spec.KindFanOut {
		g.standIn(i, definition, now)
		return
	}
	g.seq++
	t := &task{i: i, definition: definition, startedAt: now, seq: g.seq, placed: !g.run.Gated(i)}
	g.live[i] = t
	s := g.shapeOf(definition)
	if !s.plain {
		rendered, err := g.program.Render(i, g.results.get)
		switch {
		case err != nil:
			g.fail(t, g.book.attempts[i], err.Error(), now)
			return
		case !rendered.Run:
			g.close(t, dag.Skipped, g.book.attempts[i], "")
			g.must(dag.Event{Kind: dag.EventSkipped, Task: i}, now)
			return
		}
		t.rendered = rendered
	}
	g.gate.count(t)
	g.enter(t, now)
}

func (g *Graph) enter(t *task, now time.Time) {
	switch {
	case t.definition.Kind == spec.KindJobType && g.lookUp(t):
	case !t.placed && g.blocked():
		g.yield(t)
	default:
		g.offer(t, now)
	}
}

// maxCarried bounds an attempt without its checkpoint: the server refuses payloads over 2 MiB at every try.
const maxCarried = 1536 << 10

func (g *Graph) offer(t *task, now time.Time) {
	s := g.shapeOf(t.definition)
	item := run.Item{
		ID: int(t.i), Work: s.work, Want: s.want, Needs: s.needs, Retry: s.retry, Order: t.seq,
		Timeout: t.definition.Timeout.Std(), HeartbeatTimeout: t.definition.HeartbeatTimeout.Std(), Attempt: g.book.attempts[t.i], Checkpoint: g.continues.of[t.i],
		NotBefore: t.definition.NotBefore, ExpiresAt: t.definition.ExpiresAt, OnWorkerLoss: t.definition.OnWorkerLoss,
	}
	if t.rendered != nil {
		item.Needs = g.needs(t)
		if fault := objectFault(item.Needs); fault != "" {
			g.fail(t, item.Attempt, fault, now)
			return
		}
	}
	if g.run.Ending() {
		item.Retry = &run.Retry{} // A task that cleans up gets one attempt.
	}
	if !s.want.Nowhere {
		item.Want.Node, item.Want.Labels = t.rendered.Node, t.rendered.Labels
		if item.Want.Node == "" && len(item.Want.Labels) == 0 {
			item.Want.Node, item.Want.Labels = g.cfg.Node, g.cfg.Labels
		}
		item.Bytes = bytesOf(t)
		if size := item.Bytes + g.cfg.JobTypes[t.definition.JobType].Bytes; size > maxCarried {
			g.fail(t, item.Attempt, explain.TextTaskTooLarge(size, maxCarried), now)
			return
		}
	}
	t.phase = phaseOffered
	g.engine.Offer(now, item)
}

func objectFault(needs run.Needs) string {
	for _, object := range slices.Concat(needs.Exclusive, needs.Shared) {
		if object == "" || object == keyObject("") || len(object) > spec.MaxObject {
			return explain.TextObject(object, spec.MaxObject)
		}
	}
	return ""
}

func bytesOf(t *task) int {
	size := len(encodeParams(t.rendered.Params)) + len(encodeParams(t.rendered.Launch))
	for _, word := range t.rendered.Command {
		size += len(word)
	}
	return size
}

func encodeParams(params map[string]any) json.RawMessage {
	if len(params) == 0 {
		return nil
	}
	// They came out of JSON and templates, so they go into JSON; keys are sorted.
	encoded, err := json.Marshal(params)
	if err != nil {
		return nil
	}
	return encoded
}

func (g *Graph) lookUp(t *task) bool {
	name := t.definition.JobType
	if _, ok := g.cfg.JobTypes[name]; ok {
		return false
	}
	t.phase = phaseLookup
	waiting, asked := g.lookups[name]
	g.lookups[name] = append(waiting, t)
	if !asked {
		g.do(LookUp{name})
	}
	return true
}

func (v JobTypeKnown) apply(g *Graph, now time.Time) {
	name, found, problem := v.Name, v.Found, v.Problem
	if problem == "" && found.Handler == "" {
		problem = explain.TextRunsDAG(name)
	}
	waiting := g.lookups[name]
	delete(g.lookups, name)
	if problem == "" {
		g.cfg.JobTypes[name] = found
		g.engine.SetWork(now, name, g.workOf(name, found))
	}
	for _, t := range waiting {
		switch {
		case t.phase != phaseLookup:
		case problem != "":
			g.fail(t, g.book.attempts[t.i], problem, now)
		default:
			g.enter(t, now)
		}
	}
}
