package dag

import "slices"

func (s *resumption) build() {
	s.run = NewRun(s.next, s.opts)
	s.run.inheritFanOuts(s.prior)
	s.run.inheritChains(s.prior)
	s.batch, s.lost = map[int]int{}, nil
	if s.prior.growth == nil {
		return
	}
	for k, b := range s.prior.growth.batches {
		s.redefine(k)
		if !s.drop[k] && s.replay(b) {
			s.batch[len(s.run.growth.batches)-1] = k
		}
	}
	s.redefine(len(s.prior.growth.batches))
}

// replay repeats one growth with the tasks that fit the new run; false if none fits.
func (s *resumption) replay(b batch) bool {
	parent := None
	if b.parent != None {
		parent, _ = s.run.Lookup(s.prior.ID(b.parent))
		if parent == None {
			return false // A part needs its splitter.
		}
	}
	r := replayed{s: s, batch: b, parts: map[Index]bool{}}
	r.take()
	r.dropUnfit()
	for r.plan(parent); len(r.planned.faults) > 0; r.plan(parent) {
		r.dropCircular()
		r.dropUnfit()
	}
	if len(r.planned.tasks) == 0 {
		return false
	}
	s.run.insert(r.planned.tasks, r.planned.batch)
	return true
}

type replayed struct {
	s       *resumption
	batch   batch
	parts   map[Index]bool // its tasks taken along, by index in the earlier run
	planned *growthPlan
}

func (r *replayed) take() {
	for k := range r.batch.needs {
		i := r.batch.first + Index(k)
		if _, taken := r.s.run.Lookup(r.s.prior.ID(i)); !taken {
			r.parts[i] = true
		}
	}
}

func (r *replayed) lose(i Index) {
	if r.parts[i] {
		delete(r.parts, i)
		r.s.lost = append(r.s.lost, r.s.prior.ID(i))
	}
}

func (r *replayed) dropUnfit() {
	var queue []Index
	naming := map[Index][]Index{}
	for k := range r.batch.needs {
		i := r.batch.first + Index(k)
		queue = append(queue, i)
		for _, d := range slices.Concat(r.batch.needs[k], r.batch.before[k]) {
			if d >= r.batch.first {
				naming[d] = append(naming[d], i)
			}
		}
	}
	for head := 0; head < len(queue); head++ {
		if i := queue[head]; r.parts[i] && !r.fits(i) {
			r.lose(i)
			queue = append(queue, naming[i]...)
		}
	}
}

func (r *replayed) fits(i Index) bool {
	k := i - r.batch.first
	if of := r.s.prior.Under(i); of != None {
		if n, ok := r.s.run.Lookup(r.s.prior.ID(of)); !ok || !r.s.run.IsFanOut(n) {
			return false
		}
	}
	return !slices.ContainsFunc(slices.Concat(r.batch.needs[k], r.batch.before[k]), func(d Index) bool { return r.name(d) == "" })
}

// dropCircular removes from every cycle the tasks added before a part of a splitter that is executed again. Without
// such a task the whole growth is dropped.
func (r *replayed) dropCircular() {
	before := len(r.parts)
	for _, f := range r.planned.faults {
		for _, id := range f.Path {
			i, _ := r.s.prior.Lookup(id)
			if r.parts[i] && slices.ContainsFunc(r.batch.before[i-r.batch.first], func(t Index) bool { return r.name(t) != r.s.prior.ID(t) }) {
				r.lose(i)
			}
		}
	}
	if len(r.parts) < before {
		return
	}
	for k := range r.batch.needs {
		r.lose(r.batch.first + Index(k))
	}
}

// name returns the task's id, or the splitter's for a part that it adds again. It is empty if the task is gone.
func (r *replayed) name(i Index) string {
	for {
		id := r.s.prior.ID(i)
		if _, ok := r.s.run.Lookup(id); ok || r.parts[i] {
			return id
		}
		if i = r.s.splitterAgain(i); i == None {
			return ""
		}
	}
}

// splitterAgain returns the splitter of a task if it is executed again, or the task's fan-out.
func (s *resumption) splitterAgain(i Index) Index {
	if int(i) < s.prior.graph.Len() {
		return None
	}
	k := s.prior.growth.batchOf(i)
	if !s.drop[k] {
		return None
	}
	if of := s.prior.Under(i); of != None {
		return of
	}
	return s.prior.growth.batches[k].parent
}

func (r *replayed) names(row []Index) []string {
	ids := make([]string, 0, len(row))
	for _, i := range row {
		ids = append(ids, r.name(i))
	}
	return ids
}

func (r *replayed) plan(parent Index) {
	g := &Growth{}
	for k := range r.batch.needs {
		i := r.batch.first + Index(k)
		if !r.parts[i] {
			continue
		}
		t := &r.s.prior.growth.tasks[int(i)-r.s.prior.graph.Len()]
		g.Tasks = append(g.Tasks, Addition{
			Task: Task{
				ID: t.id, Needs: r.names(r.batch.needs[k]), Priority: t.priority,
				Rule: t.attr.Rule(), Unmetered: t.attr.Unmetered(), Gated: t.attr.Gated(), FanOut: t.attr.FanOut(), Payload: t.payload, Args: t.args,
			},
			Under:  r.s.prior.underID(i),
			Before: r.names(r.batch.before[k]),
		})
	}
	r.planned = r.s.run.planGrowth(g, parent, false)
}
