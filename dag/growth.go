package dag

import (
	"bytes"
	"slices"

	"github.com/roundsman/roundsman/dag/internal/graph"
)

// Addition is a task to add to a run, with the existing tasks that must wait for it.
type Addition struct {
	Task
	// Before names tasks that will depend on this one. They must not have started.
	Before []string
	// Fan-out of the task. The dependants of the fan-out will depend on the task, instead of the splitter's.
	Under string
}

// Growth is a set of tasks to add to a run in one step. Needs and Before may name tasks of the run and of the growth.
//
// With EventCompleted the growth belongs to a splitter: additions without needs need the splitter, and its dependants
// depend on the additions. A task that the same splitter added before with the same definition stays unchanged.
//
// An existing task of the growth is redefined: it gets the new definition and dependencies, and its dependants stay.
// It must not have started, except with an equal definition. A splitter redefines only tasks that it added itself.
//
// Limits of an operator hold for existing fan-outs, too, also if none of their tasks changes.
type Growth struct {
	Tasks []Addition
	// FanOuts are limits of fan-outs among the tasks, as in Options.
	FanOuts map[string]int
	// Chains are chains among them, as in Options.
	Chains map[string]Chain
}

// growth is the part of a run beyond its graph.
type growth struct {
	tasks   []addedTask
	batches []batch
	byID    map[string]Index
	needs   map[Index][]Index // dependencies missing in the graph, of any task
	deps    map[Index][]Index // dependants missing in the graph, of any task
	edges   int
	blobs   map[string][]byte // distinct payloads and args

	steps  []redefinition
	latest map[Index]int     // redefined task → its last entry in steps
	rows   map[Index][]Index // dependants in the graph, without redefined ones
	ahead  map[Index][]Index // redefined task → the tasks that wait for it since
}

type work struct {
	attr          attr
	priority      int32
	payload, args []byte
}

func workOf(t *Task) work {
	return work{attr: graph.NewAttr(t), priority: t.Priority, payload: t.Payload, args: t.Args}
}

type addedTask struct {
	work
	id     string
	parent Index // the splitter; None for an operator's
	under  Index // its fan-out; None for others
}

// batch is one executed growth with all data to repeat it.
type batch struct {
	parent Index
	first  Index     // index of its first task
	needs  [][]Index // per task, resolved
	before [][]Index // per task, resolved; without the dependants that follow from parent
}

func (g *growth) intern(p []byte) []byte {
	if p == nil {
		return nil
	}
	own, ok := g.blobs[string(p)]
	if !ok {
		own = bytes.Clone(p)
		g.blobs[string(own)] = own
	}
	return own
}

func (g *growth) replace(d *redefinition) {
	d.payload, d.args = g.intern(d.payload), g.intern(d.args)
	g.latest[d.task] = len(g.steps)
	g.steps = append(g.steps, *d)
}

func (g *growth) add(i Index, t addedTask) {
	t.payload, t.args = g.intern(t.payload), g.intern(t.args)
	g.tasks = append(g.tasks, t)
	g.byID[t.id] = i
}

func (g *growth) connect(from, to Index) {
	g.needs[to] = append(g.needs[to], from)
	g.deps[from] = append(g.deps[from], to)
	g.edges++
}

func (r *Run) addTasks(ev Event) error {
	if err := r.checkNotEnding(ev); err != nil {
		return err
	}
	if ev.Growth == nil || len(ev.Growth.Tasks) == 0 {
		return r.refuse(ev, RefusedInvalid, "there are no tasks to add")
	}
	err := r.grow(ev.Growth, None)
	r.settle()
	return err
}

func (r *Run) split(ev Event) error {
	if r.ending != endingNone {
		return r.refuse(ev, RefusedCanceling,
			"the run is ending and takes no more tasks; report the success without them")
	}
	return r.grow(ev.Growth, ev.Task)
}

func (r *Run) deferTask(ev Event) error {
	i := ev.Task
	switch {
	case r.ending != endingNone || r.Canceling(i):
		return r.refuse(ev, RefusedCanceling, "it is being canceled and cannot wait for more tasks")
	case ev.Growth == nil || len(ev.Growth.Tasks) == 0:
		return r.refuse(ev, RefusedInvalid, "there are no tasks to wait for")
	case r.Rule(i) == OneFailed:
		return r.refuse(ev, RefusedInvalid, "its rule one_failed does not wait for the tasks it returns; use all_success or all_done")
	}
	g := &Growth{Tasks: slices.Clone(ev.Growth.Tasks), FanOuts: ev.Growth.FanOuts, Chains: ev.Growth.Chains}
	for k := range g.Tasks {
		g.Tasks[k].Before = []string{r.ID(i)}
	}
	p := r.planGrowth(g, i, true)
	if len(p.faults) > 0 {
		return &FaultsError{Faults: p.faults}
	}
	r.move(i, Pending)
	r.nodes[i].flag, r.swept = 0, false
	if len(p.tasks) > 0 {
		r.limitFanOuts(g.FanOuts)
		r.limitChains(g.Chains)
		r.insert(p.tasks, p.batch)
	}
	for k := p.batch.first; int(k) < len(r.nodes); k++ {
		r.judge(k)
	}
	if r.nodes[i].state == Pending { // Otherwise it was judged with the new tasks.
		r.judge(i)
	}
	r.settle()
	if r.opts.OnFailure == Stop && r.counts[Failed] > 0 {
		r.sweep(p.batch.first)
	}
	return nil
}

func (b batch) deferred() bool { return len(b.before) > 0 && slices.Contains(b.before[0], b.parent) }

// parent is the splitter or None. On an error the run is unchanged. If no task changes, only the limits of an operator do.
func (r *Run) grow(g *Growth, parent Index) error {
	p := r.planGrowth(g, parent, false)
	if len(p.faults) > 0 {
		return &FaultsError{Faults: p.faults}
	}
	idle := len(p.tasks)+len(p.redefined) == 0
	if !idle || parent == None {
		r.limitFanOuts(g.FanOuts)
		r.limitChains(g.Chains)
	}
	if idle {
		return nil
	}
	from := Index(len(r.nodes))
	r.carryOut(p)
	r.swept, r.phase = false, phaseActive
	for i := from; int(i) < len(r.nodes); i++ {
		if r.nodes[i].state == Pending {
			r.judge(i)
		}
	}
	r.settle()
	if len(p.redefined) > 0 {
		r.rejudgeRedefined(p.redefined)
		from = 0
	}
	if r.opts.OnFailure == Stop && r.counts[Failed] > 0 {
		r.sweep(from)
	}
	return nil
}

func (r *Run) carryOut(p *growthPlan) {
	if len(p.redefined) > 0 {
		// The new tasks may close a cycle with old dependencies of redefined ones.
		r.order = nil
	}
	if len(p.tasks) > 0 {
		r.insert(p.tasks, p.batch)
	}
	if len(p.redefined) > 0 {
		for k := range p.redefined {
			p.redefined[k].after = len(r.ensureGrowth().batches)
		}
		r.redefine(p.redefined)
	}
}

// insert adds validated tasks and their edges. Repeating the batches in order on a fresh run rebuilds the same edges.
func (r *Run) insert(tasks []addedTask, b batch) {
	g := r.ensureGrowth()
	needed := neededWithin(b, func(k int) Index { return tasks[k].under })
	heirs := r.heirsOf(b, tasks)
	r.states.add(tasks)
	for k := range tasks {
		g.add(b.first+Index(k), tasks[k])
		r.joinChain(b.first + Index(k))
	}
	for k := range tasks {
		i := b.first + Index(k)
		for _, d := range b.needs[k] {
			r.link(d, i)
		}
		for _, t := range b.before[k] {
			r.link(i, t)
		}
		if needed[k] {
			continue
		}
		for _, t := range heirs[tasks[k].under] {
			if !slices.Contains(b.before[k], t) {
				r.link(i, t)
			}
		}
	}
	g.batches = append(g.batches, b)
	r.number(b)
}

func neededWithin(b batch, under func(k int) Index) []bool {
	needed := make([]bool, len(b.needs))
	for k, row := range b.needs {
		for _, d := range row {
			if n := int(d - b.first); n >= 0 && under(n) == under(k) {
				needed[n] = true
			}
		}
	}
	return needed
}

// heirs returns the tasks that will wait for the additions. Fan-outs do not wait for each other's tasks, so tasks of
// one can need single tasks of another.
func (defs *definitions) heirs(parent, under Index) []Index {
	if parent == None {
		return nil
	}
	of := parent
	if under != None {
		of = under
	}
	var heirs []Index
	for _, d := range defs.Dependants(of) {
		if under == None && defs.AddedBy(d) != parent || under != None && defs.Under(d) != under && !defs.IsFanOut(d) {
			heirs = append(heirs, d)
		}
	}
	return heirs
}

func (defs *definitions) heirsOf(b batch, tasks []addedTask) map[Index][]Index {
	heirs := map[Index][]Index{}
	if b.deferred() {
		return heirs // They wait for the splitter, which waits for the tasks.
	}
	for k := range tasks {
		if _, known := heirs[tasks[k].under]; !known {
			heirs[tasks[k].under] = defs.heirs(b.parent, tasks[k].under)
		}
	}
	return heirs
}

func (defs *definitions) heirEdges(b batch, tasks []addedTask) int {
	heirs, edges := defs.heirsOf(b, tasks), 0
	for k := range tasks {
		edges += len(heirs[tasks[k].under])
	}
	return edges
}

// A ready dependant becomes pending again.
func (r *Run) link(from, to Index) {
	r.growth.connect(from, to)
	if r.nodes[from].state.Terminal() {
		return
	}
	n := &r.nodes[to]
	n.wait++
	if n.state == Ready && n.attr.Rule() != OneFailed {
		r.move(to, Pending)
	}
}
