package dag

import "github.com/roundsman/roundsman/dag/internal/ready"

type readySet struct {
	own   ready.RankSet // tasks of the graph, by rank
	added ready.Heap    // tasks of the growth
}

type queue struct {
	defs   *definitions
	states *states

	ready    readySet
	gated    readySet
	gating   bool               // there has been a gated task
	admitted ready.Heap         // gated tasks that wait only for a place
	free     ready.Heap         // ready unmetered tasks
	fanOuts  map[string]*fanOut // those with their own limit; nil without any
	chains   chains
}

func newQueue(defs *definitions, states *states) queue {
	return queue{defs: defs, states: states, ready: readySet{own: ready.NewRankSet(defs.graph.Len())}}
}

func (q *queue) setOf(a attr) *readySet {
	if a.Gated() {
		return &q.gated
	}
	return &q.ready
}

func (q *queue) enqueue(i Index, a attr) {
	if a.Unmetered() {
		q.free.Push(ready.Key{Priority: q.defs.Priority(i), Task: i})
		return
	}
	if a.Gated() && !q.gating { // Most runs have no gated task.
		q.gating, q.gated.own = true, ready.NewRankSet(q.defs.graph.Len())
	}
	set := q.setOf(a)
	if q.defs.ranked(i) {
		set.own.Add(q.defs.rankOf(i))
		return
	}
	set.added.Push(ready.Key{Priority: q.defs.Priority(i), Task: i})
}

func (q *queue) requeue(i Index, n *node, from, to State) {
	if from == Ready && !n.attr.Unmetered() && q.defs.ranked(i) {
		q.setOf(n.attr).own.Remove(q.defs.rankOf(i))
	}
	if to == Ready {
		q.enqueue(i, n.attr)
	}
	if q.limited() {
		if from == Ready {
			n.flag &^= flagParked
		}
		q.follow(i, from, to)
		q.followItem(i, from, to)
	}
}

func (r *Run) startFree(buf []Decision) []Decision {
	for i := r.popFree(); i != None; i = r.popFree() {
		r.move(i, Running)
		buf = append(buf, Decision{Kind: DecisionStart, Task: i})
	}
	return buf
}

func (q *queue) popFree() Index {
	for q.free.Len() > 0 {
		k, ok := ready.Peek(&q.free, q.states.nodes, isReady)
		if !ok {
			break
		}
		q.free.Pop()
		if !q.limited() || !q.barred(k.Task) {
			return k.Task
		}
		q.park(k)
	}
	return None
}

// MaxCrowded is the maximum number of gated tasks that wait for resources of others.
const MaxCrowded = 1000

// Gated tasks hold resources that other runs need, so their number is limited to the concurrency.
func (r *Run) startGated(buf []Decision) []Decision {
	for limit := r.opts.Concurrency; (limit <= 0 || r.gates < limit) && r.crowded < MaxCrowded; {
		i := r.pop(&r.gated)
		if i == None {
			break
		}
		r.nodes[i].flag |= flagGate
		r.move(i, Running)
		buf = append(buf, Decision{Kind: DecisionStart, Task: i})
	}
	return buf
}

func (r *Run) fillPlaces(buf []Decision) []Decision {
	for limit := r.opts.Concurrency; limit <= 0 || r.flight < limit; {
		if r.admitted.Len() > 0 {
			if i := r.nextAdmitted(); i != None {
				r.mark(i, 0)
				buf = append(buf, Decision{Kind: DecisionProceed, Task: i})
				continue
			}
		}
		i := r.pop(&r.ready)
		if i == None {
			break
		}
		r.move(i, Running)
		buf = append(buf, Decision{Kind: DecisionStart, Task: i})
	}
	return buf
}

func (r *Run) admit(i Index, kind EventKind) {
	n := r.nodes[i]
	if kind == EventAdmit {
		n.flag &^= flagCrowded
	}
	switch {
	case kind == EventCrowded && n.flag == flagGate,
		kind == EventYield && n.flag == 0 && !n.attr.Unmetered():
		r.mark(i, flagGate|flagCrowded)
	case kind == EventCrowded, kind == EventYield:
	case kind == EventWithdraw:
		r.mark(i, n.flag&^flagAdmitted)
	case n.flag == flagGate:
		r.mark(i, flagGate|flagAdmitted)
		r.enqueueAdmitted(i)
	default: // It has its place, already waits for it or is being canceled.
	}
}

func (q *queue) enqueueAdmitted(i Index) {
	q.admitted.Push(ready.Key{Priority: q.defs.Priority(i), Task: i})
}

// nextAdmitted returns None if a ready task has a higher priority.
func (q *queue) nextAdmitted() Index {
	k, ok := ready.Peek(&q.admitted, q.states.nodes, isAdmitted)
	if !ok {
		return None
	}
	if q.limited() {
		q.parkFirst(&q.ready)
	}
	if rival, ok := q.first(&q.ready); ok && rival.Priority > k.Priority {
		return None
	}
	q.admitted.Pop()
	return k.Task
}

// first: the graph's own tasks precede added ones of the same priority.
func (q *queue) first(set *readySet) (ready.Key, bool) {
	best, ok := ready.Key{}, false
	if i := q.firstOwn(set); i != None {
		best, ok = ready.Key{Priority: q.defs.graph.Priority(i), Task: i}, true
	}
	if set.added.Len() > 0 {
		if k, found := ready.Peek(&set.added, q.states.nodes, isReady); found && (!ok || k.Before(best)) {
			return k, true
		}
	}
	return best, ok
}

func (q *queue) firstOwn(set *readySet) Index {
	return q.defs.graph.AtRank(set.own.Least())
}

// The caller of pop moves the task to Running, which removes a task of the graph from the set.
func (q *queue) pop(set *readySet) Index {
	if q.limited() {
		q.parkFirst(set)
	}
	if set.added.Len() > 0 {
		return q.popEither(set)
	}
	// Like firstOwn; inlined because it runs for every task of every run.
	return q.defs.graph.AtRank(set.own.Least())
}

func (q *queue) popEither(set *readySet) Index {
	k, ok := q.first(set)
	if !ok {
		return None
	}
	if !q.defs.ranked(k.Task) {
		set.added.Pop()
	}
	return k.Task
}

func isReady(n node) bool    { return n.state == Ready }
func isAdmitted(n node) bool { return n.flag&flagAdmitted != 0 }
