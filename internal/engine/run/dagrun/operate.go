package dagrun

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/roundsman/roundsman/internal/engine/explain"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/source"
)

// Request is a request of an operator to a run.
type Request struct {
	Kind RequestKind
	// Tasks it is about; none with Retry means all that failed.
	Tasks []string
	// Data are tasks to add, as JSON or YAML. File is the name of Data in faults.
	Data []byte
	File string
	// Limit is the new concurrency, that of FanOut or, without one, that of the run.
	Limit  int
	FanOut string
	// By and Note are the operator's.
	By, Note string
}

// RequestKind is the kind of a request.
type RequestKind uint8

// The requests. dag.Run describes its events of the same names.
const (
	Retry RequestKind = iota
	Skip
	Rerun
	Add
	SetConcurrency
	Release
	Approve
	Reject
)

// Check returns the reason to refuse a request, or nil. It changes nothing.
func (g *requests) Check(req Request) error {
	if req.Kind == Approve || req.Kind == Reject {
		_, err := g.awaiting(req)
		return err
	}
	events, blame, err := g.translate(req)
	if err != nil {
		return err
	}
	trial, err := dag.Restore(g.run.Graph(), g.run.Snapshot())
	if err != nil {
		return fmt.Errorf("the run cannot be copied: %w", err)
	}
	for _, ev := range events {
		if _, err := trial.Next(ev, nil); err != nil {
			return blame(err)
		}
	}
	return g.checkResults(trial, req.Kind)
}

func (g *requests) checkResults(trial *dag.Run, kind RequestKind) error {
	if !g.refers && kind != Add {
		return nil
	}
	redefined := make(map[dag.Index]bool, len(trial.Redefined()))
	for _, i := range trial.Redefined() {
		redefined[i] = true
	}
	program, err := spec.Open(trial)
	if err != nil {
		return err
	}
	for i := range dag.Index(trial.Len()) {
		if trial.State(i).Terminal() || !redefined[i] && int(i) < g.run.Len() && !g.run.State(i).Terminal() {
			continue
		}
		missing, err := gone(trial, program, i, func(n dag.Index) bool { return g.results.of[n] != nil })
		if err != nil {
			return err
		}
		if len(missing) > 0 {
			return fmt.Errorf("task %q refers to the result of %q, which is not kept any more; rerun %q instead", trial.ID(i), trial.ID(missing[0]), trial.ID(missing[0]))
		}
	}
	return nil
}

// Answer is the answer to a [Request].
type Answer struct {
	// Changed are the tasks that it brought back or added, Redefined those that it redefined, at most maxChanged.
	Changed, Redefined []string
	// Limits has the new limits of fan-outs that the run had before, by setting.
	Limits map[string]int
	// Err is the reason of a refusal.
	Err error
}

// Answer returns the answer to the last request.
func (g *requests) Answer() Answer { return g.answer }

func (req Request) apply(g *Graph, now time.Time) {
	if req.Kind == Approve || req.Kind == Reject {
		g.decideApproval(req, now)
		return
	}
	events, _, err := g.translate(req)
	before, a := g.run.Len(), &g.answer
	limits := g.limitsOf(events)
	for k := 0; k < len(events) && err == nil; k++ {
		if err = g.feed(events[k], now); err != nil {
			break
		}
		a.Changed = append(a.Changed, g.broughtBack()...)
		for _, i := range g.run.Redefined() {
			if len(a.Redefined) < maxChanged {
				a.Redefined = append(a.Redefined, g.run.ID(i))
			}
		}
	}
	if a.Err = err; err == nil && req.Kind == Add {
		for i := before; i < g.run.Len() && len(a.Changed) < maxChanged; i++ {
			a.Changed = append(a.Changed, g.run.ID(dag.Index(i)))
		}
		a.Limits = changedLimits(limits, g.limitsOf(events))
	}
	a.Changed = a.Changed[:min(len(a.Changed), maxChanged)]
}

// limitsOf returns the limits in force of the existing fan-outs that a growth limits.
func (g *requests) limitsOf(events []dag.Event) map[string]int {
	limits := map[string]int{}
	if len(events) == 0 || events[0].Growth == nil {
		return limits
	}
	for _, name := range slices.Sorted(maps.Keys(events[0].Growth.FanOuts)) {
		if len(g.run.Family(name)) > 0 {
			limits[contract.ConcurrencyOf(name)] = g.Limit(name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(events[0].Growth.Chains)) {
		if len(g.run.Family(name)) > 0 {
			limits[contract.ItemsInFlightOf(name)] = g.inFlight(name)
		}
	}
	return limits
}

// inFlight returns the limit of a chain, 0 without one.
func (g *requests) inFlight(name string) int {
	for _, chain := range g.run.Chains() {
		if chain.Name == name {
			return chain.Limit
		}
	}
	return 0
}

// changedLimits leaves out those of new fan-outs.
func changedLimits(before, after map[string]int) map[string]int {
	var changed map[string]int
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] != before[name] {
			if changed == nil {
				changed = map[string]int{}
			}
			changed[name] = after[name]
		}
	}
	return changed
}

const maxChanged = 200

func (g *requests) broughtBack() []string {
	var ids []string
	for _, m := range g.run.Transitions() {
		if m.From.Terminal() && m.To == dag.Pending && len(ids) < maxChanged {
			ids = append(ids, g.run.ID(m.Task))
		}
	}
	return ids
}

// blame adds the faulty part of the request to a refusal.
func (g *requests) translate(req Request) (events []dag.Event, blame func(error) error, err error) {
	if req.Kind == Add {
		added, err := spec.ParseAdded(g.run, cmp.Or(req.File, explain.TextAddedFile), req.Data)
		if err != nil {
			return nil, nil, err
		}
		return []dag.Event{{Kind: dag.EventAddTasks, Growth: added.Growth}}, added.Blame, nil
	}
	events, err = g.eventsOf(req)
	return events, func(err error) error { return err }, err
}

func (g *requests) eventsOf(req Request) ([]dag.Event, error) {
	switch req.Kind {
	case Retry:
		if len(req.Tasks) == 0 {
			return []dag.Event{{Kind: dag.EventRetry, Task: dag.None}}, nil
		}
		return g.perTask(dag.EventRetry, req.Tasks)
	case Skip:
		return g.perTask(dag.EventSkip, req.Tasks)
	case Rerun:
		return g.perTask(dag.EventRerun, req.Tasks)
	case SetConcurrency:
		if req.Limit < 1 || req.Limit > spec.MaxConcurrency {
			return nil, fmt.Errorf("concurrency %d: use 1 to %d", req.Limit, spec.MaxConcurrency)
		}
		return []dag.Event{{Kind: dag.EventSetConcurrency, Limit: req.Limit, FanOut: req.FanOut}}, nil
	case Release:
		return []dag.Event{{Kind: dag.EventRelease}}, nil
	case Approve, Reject, Add:
	}
	return nil, fmt.Errorf("there is no such request (%d)", req.Kind)
}

func (g *requests) perTask(kind dag.EventKind, ids []string) ([]dag.Event, error) {
	events := make([]dag.Event, len(ids))
	for k, id := range ids {
		i, err := g.find(id)
		if err != nil {
			return nil, err
		}
		events[k] = dag.Event{Kind: kind, Task: i}
	}
	return events, nil
}

func (g *requests) find(id string) (dag.Index, error) {
	i, ok := g.run.Lookup(id)
	if !ok {
		return dag.None, fmt.Errorf("there is no task %q in this run%s", id, g.meant(id))
	}
	return i, nil
}

func (g *requests) meant(id string) string {
	if names, total := g.family(id); total > 0 {
		return explain.TextFansOut(total, names)
	}
	return explain.TextDidYouMean(g.Similar(id))
}

func (g *requests) awaiting(req Request) (*task, error) {
	if len(req.Tasks) != 1 {
		return nil, fmt.Errorf("name the one task to decide about")
	}
	i, err := g.find(req.Tasks[0])
	if err != nil {
		return nil, err
	}
	t := g.live[i]
	if t == nil || t.phase != phaseApproval {
		return nil, fmt.Errorf("task %q does not wait for an approval: it is %s", req.Tasks[0], g.run.State(i))
	}
	return t, nil
}

func (g *Graph) decideApproval(req Request, now time.Time) {
	t, err := g.awaiting(req)
	if err != nil {
		return
	}
	end := run.Ending{Result: approvalResult(req)}
	if req.Kind == Reject {
		end = run.Ending{Failure: contract.FailurePermanent, Message: explain.TextBy("rejected", req.By, req.Note)}
	}
	g.endIdle(t, end, now)
}

func approvalResult(req Request) []byte {
	// Strings always encode.
	data, err := json.Marshal(map[string]string{"approved_by": clip(req.By), "note": clip(req.Note)})
	if err != nil {
		return nil
	}
	return data
}

// Running, sleeping and waiting tasks continue, and so does the deadline.
func (g *Graph) pause(v source.Paused, now time.Time) {
	if g.feed(dag.Event{Kind: dag.EventPause}, now) == nil {
		g.engine.Pause(now, v.By, v.Note)
	}
}

func (g *Graph) unpause() {
	if !g.run.Paused() {
		g.engine.Resume()
	}
}

// cancelRun spares tasks with the rule always, except a second time.
func (g *Graph) cancelRun(reason string, now time.Time) []source.Command {
	g.engine.Progressed()
	again := g.run.Ending()
	g.reason = cmp.Or(g.reason, clip(cmp.Or(reason, explain.TextByOperator)))
	// A run that is over refuses, which is as good.
	_ = g.feed(dag.Event{Kind: dag.EventCancelRun}, now)
	g.ending()
	g.advance(now)
	if again {
		g.insist() // After the first request to end.
	}
	return g.out
}

func (g *Graph) ending() {
	g.unpause()
	for _, t := range g.begun() {
		g.engine.SetRetry(int(t.i), run.Retry{})
	}
}

func (g *Graph) insist() {
	for _, t := range g.begun() {
		v, ok := g.engine.View(int(t.i))
		if ok && t.definition.Kind == spec.KindDAG && v.Phase == run.PhaseRunning && v.Canceling != "" && !t.insisted {
			t.insisted = true
			g.do(Insist{Item: int(t.i), Reason: g.reason})
		}
	}
}
