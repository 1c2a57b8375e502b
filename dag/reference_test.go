package dag_test

import (
	"maps"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/dag"
)

// reference is a simple run: maps of names, the rules of the package documentation, and every decision
// repeated from scratch after every event. It shares no code with dag.Run.
type reference struct {
	order    []string // declaration
	tasks    map[string]*refTask
	limit    int
	limits   map[string]int // of fan-outs
	chains   map[string]dag.Chain
	begun    map[string]bool // items in flight, as "<chain>/<item>"
	stop     bool
	hold     bool
	started  bool
	paused   bool
	held     bool
	finished bool
	cancel   int // 0 no, 1 sparing always, 2 all
	deadline bool
}

type refTask struct {
	id        string
	needs     []string
	fanOut    string
	rule      dag.Rule
	priority  int32
	free      bool
	gated     bool
	gate      bool // running without a place
	crowded   bool // at its gate, waiting for others
	admitted  bool
	state     dag.State
	canceling bool
	swept     bool
	idle      bool // skipped by its rule
	parent    string
	fan       bool
	under     string
	ahead     []string // tasks that wait for it because it was added before them
}

// out holds the decisions of a step, by name, in order.
type out struct {
	kind dag.DecisionKind
	task string
	end  dag.Outcome
}

func newReference(in dag.Input, o dag.Options) *reference {
	r := &reference{tasks: map[string]*refTask{}, limit: o.Concurrency, stop: o.OnFailure == dag.Stop, hold: o.Hold, limits: maps.Clone(o.FanOuts), chains: map[string]dag.Chain{}, begun: map[string]bool{}}
	for _, t := range in.Tasks {
		r.declare(t, "", "")
	}
	r.limitChains(o.Chains)
	return r
}

// limitChains declares chains. An entry stays in its first chain, and a chain has at least one.
func (r *reference) limitChains(declared map[string]dag.Chain) {
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		c := declared[name]
		entries := slices.Clone(r.chains[name].Entries)
		for _, entry := range c.Entries {
			taken := false
			for _, other := range r.chains {
				taken = taken || slices.Contains(other.Entries, entry)
			}
			if !taken {
				entries = append(entries, entry)
			}
		}
		if c.Entries = entries; len(entries) == 0 {
			continue
		}
		r.chains[name] = c
		for _, id := range r.where(func(t *refTask) bool { return t.state == dag.Running }) {
			if item, of := r.item(id); of == name {
				r.begun[item] = true
			}
		}
	}
}

func (r *reference) declare(t dag.Task, parent, under string) {
	r.order = append(r.order, t.ID)
	fanOut, _, _ := strings.Cut(t.ID, ".")
	r.tasks[t.ID] = &refTask{
		id:     t.ID,
		fanOut: fanOut,
		needs:  slices.Clone(t.Needs), rule: t.Rule, priority: t.Priority, free: t.Unmetered || t.FanOut, gated: t.Gated && !t.Unmetered && !t.FanOut, parent: parent, fan: t.FanOut, under: under,
	}
}

// inFanOut counts the tasks of a fan-out in a state.
func (r *reference) inFanOut(name string, s dag.State) int {
	return len(r.where(func(t *refTask) bool { return t.fanOut == name && t.state == s }))
}

func (r *reference) full(name string) bool {
	limit, limited := r.limits[name]
	return limited && r.inFanOut(name, dag.Running) >= limit
}

// item returns the item of a task and its chain; empty without one.
func (r *reference) item(id string) (item, of string) {
	entry, suffix, fanned := strings.Cut(id, ".")
	for name, c := range r.chains {
		if fanned && slices.Contains(c.Entries, entry) {
			return name + "/" + suffix, name
		}
	}
	return "", ""
}

// ofItem returns the tasks of an item.
func (r *reference) ofItem(item string) []string {
	var ids []string
	for _, id := range r.order {
		if its, _ := r.item(id); its == item {
			ids = append(ids, id)
		}
	}
	return ids
}

// inFlight counts the items in flight of a chain.
func (r *reference) inFlight(chain string) int {
	n := 0
	for item := range r.begun {
		if strings.HasPrefix(item, chain+"/") {
			n++
		}
	}
	return n
}

// barred reports whether the item of a task may not begin.
func (r *reference) barred(id string) bool {
	item, of := r.item(id)
	if item == "" || r.begun[item] {
		return false
	}
	return r.inFlight(of) >= r.chains[of].InFlight || !r.halfDone(item) && r.resumes(of)
}

// halfDone reports whether an item has a completed task.
func (r *reference) halfDone(item string) bool {
	return slices.ContainsFunc(r.ofItem(item), func(id string) bool { return r.tasks[id].state == dag.Completed })
}

// resumes reports whether an item of the chain with a completed task is to begin again.
func (r *reference) resumes(chain string) bool {
	return slices.ContainsFunc(r.order, func(id string) bool {
		item, of := r.item(id)
		return of == chain && !r.begun[item] && r.tasks[id].state == dag.Ready && r.halfDone(item)
	})
}

// endItems ends items without an open task.
func (r *reference) endItems() {
	for item := range r.begun {
		open := false
		for _, id := range r.ofItem(item) {
			open = open || r.tasks[id].state < dag.Completed
		}
		if !open {
			delete(r.begun, item)
		}
	}
}

// chainFailed reports whether an item of a chain has failed, and the chain stops then.
func (r *reference) chainFailed(name string) (failed, stops bool) {
	for id, t := range r.tasks {
		if _, of := r.item(id); of == name && (t.state == dag.Failed || t.state == dag.UpstreamFailed) {
			failed = true
		}
	}
	return failed, r.chains[name].OnFailure == dag.Stop && !r.stop
}

// stopItems cancels the items that have not begun, after a failed one: chain by chain, until nothing changes.
func (r *reference) stopItems() {
	names := slices.Sorted(maps.Keys(r.chains))
	for k := 0; k < len(names) && r.cancel == 0; k++ {
		if failed, stops := r.chainFailed(names[k]); !failed || !stops {
			continue
		}
		changed := false
		for id, t := range r.tasks {
			if item, of := r.item(id); of == names[k] && !r.begun[item] && t.state < dag.Completed {
				t.state, t.swept, changed = dag.Canceled, true, true
			}
		}
		if changed {
			r.propagate()
			k = -1
		}
	}
}

// resumeItems brings the items back that no failed one stops any more.
func (r *reference) resumeItems() {
	var ids []string
	for _, id := range r.order {
		_, of := r.item(id)
		if failed, stops := r.chainFailed(of); of != "" && r.tasks[id].swept && stops && !failed {
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 {
		r.back(ids)
	}
}

func bad(s dag.State) bool {
	return s == dag.Failed || s == dag.UpstreamFailed || s == dag.Canceled
}

// verdict returns the next state of a pending task; Pending if it stays.
func (r *reference) verdict(t *refTask) dag.State {
	all, blocked, failed := true, false, false
	for _, n := range t.needs {
		s := r.tasks[n].state
		all = all && s >= dag.Completed
		blocked = blocked || bad(s)
		failed = failed || s == dag.Failed || s == dag.UpstreamFailed
	}
	switch {
	case t.rule == dag.AllSuccess && blocked:
		return dag.UpstreamFailed
	case t.rule == dag.OneFailed && failed:
		return dag.Ready
	case !all:
		return dag.Pending
	case t.rule == dag.OneFailed:
		return dag.Skipped
	}
	return dag.Ready
}

// propagate repeats until nothing changes.
func (r *reference) propagate() {
	for changed := true; changed; {
		changed = false
		for _, id := range r.order {
			t := r.tasks[id]
			if t.state != dag.Pending {
				continue
			}
			if v := r.verdict(t); v != dag.Pending {
				t.state, t.idle, changed = v, v == dag.Skipped, true
			}
		}
	}
}

// decide starts and finishes.
func (r *reference) decide() []out {
	if !r.started || r.finished || r.held {
		return nil
	}
	r.endItems()
	r.stopItems()
	r.endItems()
	var outs []out
	start := func(id string) {
		if item, of := r.item(id); of != "" {
			r.begun[item] = true
		}
		r.tasks[id].state = dag.Running
		outs = append(outs, out{kind: dag.DecisionStart, task: id})
	}
	if !r.paused {
		room := func(is func(*refTask) bool) bool {
			return r.limit <= 0 || len(r.where(func(t *refTask) bool { return t.state == dag.Running && is(t) })) < r.limit
		}
		best := func(is func(*refTask) bool) (best string) {
			for _, id := range r.where(is) {
				if best == "" || r.tasks[id].priority > r.tasks[best].priority {
					best = id
				}
			}
			return best
		}
		ready := func(is func(*refTask) bool) string {
			return best(func(t *refTask) bool { return t.state == dag.Ready && is(t) && !r.full(t.fanOut) && !r.barred(t.id) })
		}
		for from := -1; from < len(outs) || r.force(best); {
			from = len(outs)
			for id := "-"; id != ""; {
				if id = ready(func(t *refTask) bool { return t.free }); id != "" {
					start(id)
				}
			}
			for id := "-"; id != "" && room(func(t *refTask) bool { return !t.free && !t.gate }); {
				id = ready(func(t *refTask) bool { return !t.free && !t.gated })
				admitted := best(func(t *refTask) bool { return t.admitted })
				switch {
				case admitted != "" && (id == "" || r.tasks[admitted].priority >= r.tasks[id].priority):
					id = admitted
					r.tasks[id].gate, r.tasks[id].admitted = false, false
					outs = append(outs, out{kind: dag.DecisionProceed, task: id})
				case id != "":
					start(id)
				}
			}
			for id := "-"; id != "" && room(func(t *refTask) bool { return t.gate && !t.crowded }); {
				if id = ready(func(t *refTask) bool { return t.gated }); id != "" {
					start(id)
					r.tasks[id].gate = true
				}
			}
		}
	}
	failed := false
	for _, t := range r.tasks {
		if t.state < dag.Completed {
			return outs
		}
		failed = failed || bad(t.state)
	}
	end := dag.OutcomeCompleted
	switch {
	case r.cancel > 0 && !r.deadline:
		end = dag.OutcomeCanceled
	case r.deadline || failed:
		end = dag.OutcomeFailed
	}
	if r.hold && r.cancel == 0 && end == dag.OutcomeFailed {
		r.held = true
		return append(outs, out{kind: dag.DecisionHold})
	}
	r.finished = true
	return append(outs, out{kind: dag.DecisionFinish, end: end})
}

// force begins the best waiting item if nothing runs.
func (r *reference) force(best func(func(*refTask) bool) string) bool {
	if len(r.where(func(t *refTask) bool { return t.state == dag.Running })) > 0 {
		return false
	}
	id := best(func(t *refTask) bool { return t.state == dag.Ready && r.barred(t.id) })
	if id != "" {
		item, _ := r.item(id)
		r.begun[item] = true
	}
	return id != ""
}

// step applies an event; ok is false if it must be refused. It takes valid growth by name.
func (r *reference) step(kind dag.EventKind, id string, limit int, growth *dag.Growth) (outs []out, ok bool) {
	switch kind {
	case dag.EventStart:
		if r.started {
			return nil, true
		}
		r.started = true
		r.propagate()
		return r.decide(), true
	case dag.EventStarted, dag.EventCompleted, dag.EventDeferred, dag.EventFailed, dag.EventCanceled, dag.EventSkipped, dag.EventAdmit, dag.EventWithdraw, dag.EventCrowded, dag.EventYield:
		return r.report(kind, id, growth)
	}
	if r.finished {
		return nil, false
	}
	switch kind {
	case dag.EventPause, dag.EventResume:
		r.paused = kind == dag.EventPause
		return r.decide(), true
	case dag.EventSetConcurrency:
		if id != "" {
			return r.limitFanOut(id, limit)
		}
		r.limit = limit
		return r.decide(), true
	}
	if !r.started {
		return nil, false
	}
	return r.request(kind, id, growth)
}

// limitFanOut changes the limit of a fan-out that has a task or a limit.
func (r *reference) limitFanOut(name string, limit int) ([]out, bool) {
	there := r.limits[name] > 0
	for _, t := range r.tasks {
		there = there || t.fanOut == name
	}
	if limit <= 0 || !there {
		return nil, false
	}
	if r.limits == nil {
		r.limits = map[string]int{}
	}
	r.limits[name] = limit
	return r.decide(), true
}

func (r *reference) report(kind dag.EventKind, id string, growth *dag.Growth) ([]out, bool) {
	t := r.tasks[id]
	if t.state >= dag.Completed {
		return nil, true
	}
	if t.state != dag.Running {
		return nil, false
	}
	if kind == dag.EventAdmit {
		t.admitted, t.crowded = t.gate && !t.canceling, false
		return r.decide(), true
	}
	if kind == dag.EventWithdraw {
		t.admitted = false
		return r.decide(), true
	}
	if kind == dag.EventCrowded {
		t.crowded = t.crowded || t.gate && !t.canceling && !t.admitted
		return r.decide(), true
	}
	if kind == dag.EventYield {
		yields := !t.free && !t.gate && !t.canceling
		t.gate, t.crowded = t.gate || yields, t.crowded || yields
		return r.decide(), true
	}
	if kind == dag.EventDeferred {
		if r.cancel > 0 || t.canceling || t.rule == dag.OneFailed || growth == nil {
			return nil, false
		}
		t.state, t.gate, t.admitted, t.crowded = dag.Pending, false, false, false
		r.deferTo(growth, id)
		return r.decide(), true
	}
	ends := map[dag.EventKind]dag.State{
		dag.EventCompleted: dag.Completed, dag.EventFailed: dag.Failed,
		dag.EventCanceled: dag.Canceled, dag.EventSkipped: dag.Skipped,
	}
	end, is := ends[kind]
	if !is {
		return nil, true
	}
	if growth != nil {
		if r.cancel > 0 {
			return nil, false
		}
		r.grow(growth, id)
	}
	t.state, t.canceling, t.gate, t.admitted, t.crowded = end, false, false, false, false
	r.propagate()
	if end == dag.Failed && r.stop {
		r.sweep(r.order)
	}
	return r.decide(), true
}

func (r *reference) sweep(ids []string) {
	for _, id := range ids {
		t := r.tasks[id]
		if (t.state == dag.Pending || t.state == dag.Ready) && t.rule != dag.Always && t.rule != dag.OneFailed {
			t.state, t.swept = dag.Canceled, true
		}
	}
	r.propagate()
}

// heirs returns the tasks that wait for the additions of a splitter.
func (r *reference) heirs(parent, under string) []string {
	return r.where(func(t *refTask) bool {
		if under == "" {
			return parent != "" && slices.Contains(t.needs, parent) && t.parent != parent
		}
		return slices.Contains(t.needs, under) && t.under != under && !t.fan
	})
}

// neededBeside reports whether a task of the same growth and fan-out needs it.
func neededBeside(g *dag.Growth, a dag.Addition) bool {
	return slices.ContainsFunc(g.Tasks, func(b dag.Addition) bool { return b.Under == a.Under && slices.Contains(b.Needs, a.ID) })
}

// deferTo makes a task wait for its additions.
func (r *reference) deferTo(g *dag.Growth, id string) {
	if len(g.FanOuts) > 0 && r.limits == nil {
		r.limits = map[string]int{}
	}
	maps.Copy(r.limits, g.FanOuts)
	r.limitChains(g.Chains)
	var fresh []string
	for _, a := range g.Tasks {
		r.declare(a.Task, id, a.Under)
		r.tasks[id].needs = append(r.tasks[id].needs, a.ID)
		fresh = append(fresh, a.ID)
	}
	r.propagate()
	if r.stop && len(r.where(func(t *refTask) bool { return t.state == dag.Failed })) > 0 {
		r.sweep(fresh)
	}
}

func (r *reference) grow(g *dag.Growth, parent string) {
	if len(g.FanOuts) > 0 && r.limits == nil {
		r.limits = map[string]int{}
	}
	maps.Copy(r.limits, g.FanOuts)
	r.limitChains(g.Chains)
	var fresh []string
	heirs := map[string][]string{}
	for _, a := range g.Tasks {
		heirs[a.Under] = r.heirs(parent, a.Under)
	}
	wait := func(id, on string) {
		t := r.tasks[id]
		if !slices.Contains(t.needs, on) {
			t.needs = append(t.needs, on)
		}
		if t.state == dag.Ready && t.rule != dag.OneFailed {
			t.state = dag.Pending
		}
	}
	redefined := map[string]bool{}
	for _, a := range g.Tasks {
		if len(a.Needs) == 0 && parent != "" {
			a.Needs = []string{parent}
		}
		if r.tasks[a.ID] != nil {
			r.redefine(a.Task)
			redefined[a.ID] = true
			continue
		}
		r.declare(a.Task, parent, a.Under)
		fresh = append(fresh, a.ID)
	}
	for _, a := range g.Tasks {
		for _, b := range a.Before {
			wait(b, a.ID)
			r.tasks[a.ID].ahead = append(r.tasks[a.ID].ahead, b)
		}
		if !redefined[a.ID] && !neededBeside(g, a) {
			for _, h := range heirs[a.Under] {
				wait(h, a.ID)
			}
		}
	}
	r.propagate()
	if r.stop {
		for _, t := range r.tasks {
			if t.state == dag.Failed {
				if len(redefined) > 0 {
					fresh = r.order
				}
				r.sweep(fresh)
				break
			}
		}
	}
}

// imposed returns the dependencies that a redefined task keeps.
func (r *reference) imposed(id string, needs []string) []string {
	var kept []string
	for _, n := range r.tasks[id].needs {
		by := r.tasks[n].parent
		if of := r.tasks[n].under; of != "" {
			by = of
		}
		sibling := r.tasks[n].parent != "" && r.tasks[n].parent == r.tasks[id].parent
		if slices.Contains(r.tasks[n].ahead, id) || slices.Contains(needs, by) || sibling {
			kept = append(kept, n)
		}
	}
	return kept
}

// redefine replaces the work and dependencies of a task.
func (r *reference) redefine(a dag.Task) {
	t := r.tasks[a.ID]
	t.needs = append(slices.Clone(a.Needs), r.imposed(a.ID, a.Needs)...)
	t.rule, t.priority, t.free, t.gated, t.state = a.Rule, a.Priority, a.Unmetered, a.Gated && !a.Unmetered, dag.Pending
}

// back makes tasks pending again, with all tasks behind them that never ran because of them.
func (r *reference) back(ids []string) {
	reset := map[string]bool{}
	var visit func(id string)
	visit = func(id string) {
		if reset[id] || r.tasks[id].state < dag.Completed {
			return
		}
		reset[id] = true
		t := r.tasks[id]
		t.state, t.swept, t.idle = dag.Pending, false, false
		for _, d := range r.order {
			if !slices.Contains(r.tasks[d].needs, id) {
				continue
			}
			if s := r.tasks[d].state; s == dag.UpstreamFailed || r.tasks[d].idle {
				visit(d)
			} else if s == dag.Ready && r.tasks[d].rule != dag.OneFailed {
				r.tasks[d].state = dag.Pending
			}
		}
	}
	for _, id := range ids {
		visit(id)
	}
	r.held = false
	r.propagate()
}

func (r *reference) where(want func(*refTask) bool) []string {
	var ids []string
	for _, id := range r.order {
		if want(r.tasks[id]) {
			ids = append(ids, id)
		}
	}
	return ids
}

// sweptIfLast returns the tasks canceled by stop if id is the last failure.
func (r *reference) sweptIfLast(id string) []string {
	failed := r.where(func(t *refTask) bool { return t.state == dag.Failed })
	if !r.stop || (len(failed) > 0 && !slices.Equal(failed, []string{id})) {
		return nil
	}
	return r.where(func(t *refTask) bool { return t.swept })
}

func (r *reference) request(kind dag.EventKind, id string, growth *dag.Growth) ([]out, bool) {
	var t *refTask
	if id != "" {
		t = r.tasks[id]
	}
	switch kind {
	case dag.EventCancelTask:
		return r.cancelTask(t, id)
	case dag.EventCancelRun, dag.EventDeadline:
		return r.cancelRun(kind)
	case dag.EventRelease:
		if !r.held {
			return nil, false
		}
		r.held, r.finished = false, true
		return []out{{kind: dag.DecisionFinish, end: dag.OutcomeFailed}}, true
	}
	if r.cancel > 0 {
		return nil, false
	}
	switch kind {
	case dag.EventAddTasks:
		r.grow(growth, "")
		r.held = false
	case dag.EventRetry:
		seeds := []string{id}
		if id == "" {
			seeds = r.where(func(t *refTask) bool { return t.state == dag.Failed || t.state == dag.Canceled })
			if len(seeds) == 0 {
				return nil, false
			}
		} else {
			if t.state != dag.Failed && t.state != dag.Canceled {
				return nil, false
			}
			seeds = append(seeds, r.sweptIfLast(id)...)
		}
		r.back(seeds)
		r.resumeItems()
	case dag.EventSkip:
		if t.state == dag.Running || t.state == dag.Completed || t.state == dag.Skipped {
			return nil, false
		}
		var seeds []string
		if bad(t.state) {
			seeds = r.sweptIfLast(id)
			for _, d := range r.order {
				if slices.Contains(r.tasks[d].needs, id) && r.tasks[d].state == dag.UpstreamFailed {
					seeds = append(seeds, d)
				}
			}
			r.held = false
		}
		t.state, t.swept, t.idle = dag.Skipped, false, false
		r.back(slices.DeleteFunc(seeds, func(s string) bool { return s == id }))
		r.endItems()
		r.resumeItems()
	case dag.EventRerun:
		if !r.rerun(t, id) {
			return nil, false
		}
	}
	return r.decide(), true
}

func (r *reference) rerun(t *refTask, id string) bool {
	if t.state < dag.Completed {
		return false
	}
	below := map[string]bool{id: true}
	for changed := true; changed; {
		changed = false
		for _, d := range r.order {
			for _, n := range r.tasks[d].needs {
				if below[n] && !below[d] {
					below[d], changed = true, true
				}
			}
		}
	}
	for d := range below {
		if r.tasks[d].state == dag.Running {
			return false
		}
	}
	for d := range below {
		r.tasks[d].state, r.tasks[d].swept, r.tasks[d].idle = dag.Pending, false, false
	}
	var seeds []string
	if r.stop && len(r.where(func(t *refTask) bool { return t.state == dag.Failed })) == 0 {
		seeds = r.where(func(t *refTask) bool { return t.swept })
	}
	r.back(seeds)
	r.resumeItems()
	return true
}

func (r *reference) cancelTask(t *refTask, id string) ([]out, bool) {
	switch {
	case t.state >= dag.Completed:
		return nil, false
	case t.state == dag.Running:
		if t.canceling {
			return r.decide(), true
		}
		t.canceling, t.admitted, t.crowded = true, false, false
		return append([]out{{kind: dag.DecisionCancel, task: id}}, r.decide()...), true
	}
	t.state = dag.Canceled
	r.propagate()
	return r.decide(), true
}

func (r *reference) cancelRun(kind dag.EventKind) ([]out, bool) {
	if r.cancel == 0 {
		r.deadline = kind == dag.EventDeadline
	}
	r.cancel, r.paused = min(r.cancel+1, 2), false
	var outs []out
	for _, id := range r.order {
		t := r.tasks[id]
		if r.cancel == 1 && t.rule == dag.Always {
			continue
		}
		switch {
		case t.state < dag.Running:
			t.state = dag.Canceled
		case t.state == dag.Running && !t.canceling:
			t.canceling, t.admitted, t.crowded = true, false, false
			outs = append(outs, out{kind: dag.DecisionCancel, task: id})
		}
	}
	r.held = false
	r.propagate()
	return append(outs, r.decide()...), true
}
