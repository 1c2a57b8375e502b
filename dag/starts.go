package dag

import "github.com/roundsman/roundsman/dag/internal/ready"

// readySet holds the ready tasks of one kind, ordered by priority, then by declaration.
type readySet struct {
	own   ready.RankSet // tasks of the graph, by rank
	added ready.Heap    // tasks of the growth
}

// setOf returns the set for ready metered tasks with these attributes.
func (r *Run) setOf(a attr) *readySet {
	if a.Gated() {
		return &r.gated
	}
	return &r.ready
}

// enqueue makes a newly ready task available to decide.
func (r *Run) enqueue(i Index, a attr) {
	if a.Unmetered() {
		r.free.Push(ready.Key{Priority: r.Priority(i), Task: i})
		return
	}
	if a.Gated() && !r.gating { // Most runs have no gated task.
		r.gating, r.gated.own = true, ready.NewRankSet(r.graph.Len())
	}
	set := r.setOf(a)
	if r.ranked(i) {
		set.own.Add(r.rankOf(i))
		return
	}
	set.added.Push(ready.Key{Priority: r.Priority(i), Task: i})
}

func (r *Run) startFree(buf []Decision) []Decision {
	for r.free.Len() > 0 {
		k, ok := ready.Peek(&r.free, r.nodes, isReady)
		if !ok {
			break
		}
		r.free.Pop()
		if r.limited() && r.barred(k.Task) {
			r.park(k)
			continue
		}
		r.move(k.Task, Running)
		buf = append(buf, Decision{Kind: DecisionStart, Task: k.Task})
	}
	return buf
}

// MaxCrowded is the maximum number of gated tasks that wait for resources of others.
const MaxCrowded = 1000

// startGated starts gated tasks without a place. Their number is limited to the concurrency, because
// they hold resources that other runs need. Crowded ones hold nothing.
func (r *Run) startGated(buf []Decision) []Decision {
	for limit := r.opts.Concurrency; (limit <= 0 || r.gates < limit) && r.crowded < MaxCrowded; {
		i := r.pop(&r.gated)
		if i == None {
			break
		}
		r.gates++
		r.move(i, Running)
		r.nodes[i].flag |= flagGate
		buf = append(buf, Decision{Kind: DecisionStart, Task: i})
	}
	return buf
}

// fillPlaces gives the free places to admitted and to ready tasks.
func (r *Run) fillPlaces(buf []Decision) []Decision {
	for limit := r.opts.Concurrency; limit <= 0 || r.flight < limit; {
		if r.admitted.Len() > 0 {
			if i := r.nextAdmitted(); i != None {
				r.flight++
				buf = append(buf, Decision{Kind: DecisionProceed, Task: i})
				continue
			}
		}
		i := r.pop(&r.ready)
		if i == None {
			break
		}
		r.flight++
		r.move(i, Running)
		buf = append(buf, Decision{Kind: DecisionStart, Task: i})
	}
	return buf
}

// admit queues a gated task for the next place, removes it from the queue, or lets it wait for others.
func (r *Run) admit(i Index, kind EventKind) {
	n := &r.nodes[i]
	if kind == EventAdmit {
		r.uncrowd(n)
	}
	switch {
	case kind == EventCrowded && n.flag == flagGate:
		n.flag |= flagCrowded
		r.gates--
		r.crowded++
	case kind == EventYield && n.flag == 0 && !n.attr.Unmetered():
		n.flag = flagGate | flagCrowded
		r.flight--
		r.crowded++
	case kind == EventCrowded, kind == EventYield:
	case kind == EventWithdraw:
		n.flag &^= flagAdmitted
	case n.flag == flagGate:
		n.flag |= flagAdmitted
		r.admitted.Push(ready.Key{Priority: r.Priority(i), Task: i})
	default: // It has its place, already waits for it or is being canceled.
	}
}

func (r *Run) uncrowd(n *node) {
	if n.flag&flagCrowded != 0 {
		n.flag &^= flagCrowded
		r.crowded--
		r.gates++
	}
}

// nextAdmitted takes the admitted task for the next place. It returns None if a ready task has a
// higher priority.
func (r *Run) nextAdmitted() Index {
	k, ok := ready.Peek(&r.admitted, r.nodes, isAdmitted)
	if !ok {
		return None
	}
	if r.limited() {
		r.parkFirst(&r.ready)
	}
	if rival, ok := r.first(&r.ready); ok && rival.Priority > k.Priority {
		return None
	}
	r.admitted.Pop()
	r.nodes[k.Task].flag = 0
	r.gates--
	return k.Task
}

// first returns the first task of the set. The graph's own tasks precede added ones of the same
// priority, because they were declared first.
func (r *Run) first(set *readySet) (ready.Key, bool) {
	best, ok := ready.Key{}, false
	if i := r.firstOwn(set); i != None {
		best, ok = ready.Key{Priority: r.graph.Priority(i), Task: i}, true
	}
	if set.added.Len() > 0 {
		if k, found := ready.Peek(&set.added, r.nodes, isReady); found && (!ok || k.Before(best)) {
			return k, true
		}
	}
	return best, ok
}

func (r *Run) firstOwn(set *readySet) Index {
	return r.graph.AtRank(set.own.Least())
}

// pop takes the first task of the set; None if it is empty. The caller moves the task to Running,
// which removes a task of the graph from the set.
func (r *Run) pop(set *readySet) Index {
	if r.limited() {
		r.parkFirst(set)
	}
	if set.added.Len() > 0 {
		return r.popEither(set)
	}
	// Like firstOwn; inlined because it runs for every task of every run.
	return r.graph.AtRank(set.own.Least())
}

// popEither is pop for a set that may hold added tasks.
func (r *Run) popEither(set *readySet) Index {
	k, ok := r.first(set)
	if !ok {
		return None
	}
	if !r.ranked(k.Task) {
		set.added.Pop()
	}
	return k.Task
}

func isReady(n node) bool    { return n.state == Ready }
func isAdmitted(n node) bool { return n.flag&flagAdmitted != 0 }
