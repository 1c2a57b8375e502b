package dag

import "slices"

// redefine drops a redefinition of a task that the new graph defines differently: that definition is newer.
func (s *resumption) redefine(after int) {
	steps := s.prior.growth.steps
	from, _ := slices.BinarySearchFunc(steps, after, func(d redefinition, after int) int { return d.after - after })
	for from < len(steps) && steps[from].after == after {
		to, seen := from, map[Index]bool{}
		for ; to < len(steps) && steps[to].after == after && steps[to].parent == steps[from].parent && !seen[steps[to].task]; to++ {
			seen[steps[to].task] = true
		}
		s.redefineTasks(steps[from:to])
		from = to
	}
}

// redefineTasks repeats redefinitions all at once or, if that fails, each that is valid on its own.
func (s *resumption) redefineTasks(steps []redefinition) {
	g, parent := &Growth{}, None
	for k := range steps {
		d := &steps[k]
		id := s.prior.ID(d.task)
		i, there := s.run.Lookup(id)
		by := None
		if d.parent != None {
			by, _ = s.run.Lookup(s.prior.ID(d.parent))
		}
		switch {
		case s.changed[id], !there && (d.parent != None || int(d.task) < s.prior.graph.Len()):
			continue // The new graph defines or removes the task, or its splitter adds it again.
		case there && d.parent != None && s.run.AddedBy(i) != by:
			continue
		}
		a, all := s.addition(d)
		if !there || !all {
			s.loseDefinition(d.task)
			continue
		}
		parent = by
		g.Tasks = append(g.Tasks, a)
	}
	if p := s.run.planGrowth(g, parent, false); len(p.faults) == 0 {
		s.run.carryOut(p)
		return
	}
	for k := range g.Tasks {
		p := s.run.planGrowth(&Growth{Tasks: g.Tasks[k : k+1]}, parent, false)
		if len(p.faults) > 0 {
			i, _ := s.prior.Lookup(g.Tasks[k].ID)
			s.loseDefinition(i)
			continue
		}
		s.run.carryOut(p)
	}
}

func (s *resumption) loseDefinition(i Index) {
	if id := s.prior.ID(i); !slices.Contains(s.lost, id) {
		s.lost = append(s.lost, id)
	}
}

func (s *resumption) addition(d *redefinition) (Addition, bool) {
	needs, all := s.names(d.needs)
	before, every := s.names(d.before)
	return Addition{
		Task: Task{
			ID: s.prior.ID(d.task), Needs: needs, Priority: d.priority, Rule: d.attr.Rule(), Unmetered: d.attr.Unmetered(), Gated: d.attr.Gated(),
			Payload: d.payload, Args: d.args,
		},
		Before: before,
	}, all && every
}

// names returns false if a task is gone.
func (s *resumption) names(row []Index) ([]string, bool) {
	ids := make([]string, 0, len(row))
	for _, i := range row {
		for {
			if _, ok := s.run.Lookup(s.prior.ID(i)); ok {
				break
			}
			if i = s.splitterAgain(i); i == None {
				return nil, false
			}
		}
		ids = append(ids, s.prior.ID(i))
	}
	return ids, true
}
