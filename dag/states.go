package dag

import "github.com/roundsman/roundsman/dag/internal/origin"

type states struct {
	nodes   []node
	counts  [stateCount]int
	flight  int // metered tasks running in a place
	gates   int // gated tasks running without one, except crowded ones
	crowded int // gated tasks that wait for resources of others
	origins origin.Runs
	moves   []Transition
}

func newStates(g *Graph) states {
	s := states{nodes: make([]node, g.Len())}
	for i := range s.nodes {
		s.nodes[i] = node{
			wait: int32(len(g.Needs(Index(i)))),
			attr: g.Attr(Index(i)),
		}
	}
	s.counts[Pending] = len(s.nodes)
	return s
}

func (s *states) occupy(t node, n int) {
	switch {
	case t.attr.Unmetered():
	case t.flag&flagGate == 0:
		s.flight += n
	case t.flag&flagCrowded != 0:
		s.crowded += n
	default:
		s.gates += n
	}
}

func (s *states) set(i Index, to State) (from State) {
	n := &s.nodes[i]
	from, n.state = n.state, to
	if from == Running {
		s.occupy(*n, -1)
	} else if to == Running {
		s.occupy(*n, +1)
	}
	s.counts[from]--
	s.counts[to]++
	s.moves = append(s.moves, Transition{Task: i, From: from, To: to})
	return from
}

func (s *states) mark(i Index, to flag) {
	n := &s.nodes[i]
	s.occupy(*n, -1)
	n.flag = to
	s.occupy(*n, +1)
}

func (s *states) askCancel(i Index) bool {
	f := s.nodes[i].flag
	if f&flagCanceling != 0 {
		return false
	}
	s.mark(i, f&^(flagAdmitted|flagCrowded)|flagCanceling)
	return true
}

func (s *states) add(tasks []addedTask) {
	for k := range tasks {
		s.nodes = append(s.nodes, node{attr: tasks[k].attr})
	}
	s.counts[Pending] += len(tasks)
	s.origins.Extend(len(tasks))
}

func (s *states) recount() {
	s.counts = [stateCount]int{}
	for i := range s.nodes {
		n := &s.nodes[i]
		n.wait = 0
		s.counts[n.state]++
		if n.state == Running {
			s.occupy(*n, +1)
		}
	}
}

func (s *states) stopped() []Index {
	return s.inStates(func(n *node) bool { return n.flag&flagSwept != 0 })
}

// inStates scans all tasks, so only operators' requests may call it.
func (s *states) inStates(want func(*node) bool) []Index {
	var found []Index
	for i := range s.nodes {
		if want(&s.nodes[i]) {
			found = append(found, Index(i))
		}
	}
	return found
}

// From returns the id of the run that produced the state of task i; empty for this run.
func (s *states) From(i Index) string { return s.origins.Of(i) }

// State returns the state of task i.
func (s *states) State(i Index) State { return s.nodes[i].state }

// Canceling reports whether a running task was requested to cancel.
func (s *states) Canceling(i Index) bool { return s.nodes[i].flag&flagCanceling != 0 }

// Count returns the number of tasks in a state.
func (s *states) Count(of State) int { return s.counts[of] }

// InFlight returns the number of running metered tasks, except gated ones without a place.
func (s *states) InFlight() int { return s.flight }

// AtGate returns the number of started gated tasks without a place, except crowded ones.
func (s *states) AtGate() int { return s.gates }

// Crowded returns the number of started tasks that wait for resources of others, or have yielded.
func (s *states) Crowded() int { return s.crowded }

// Gated reports whether i takes its place only after EventAdmit.
func (s *states) Gated(i Index) bool { return s.nodes[i].attr.Gated() }

// Admitted reports whether the gated task i was admitted and still waits for its place.
func (s *states) Admitted(i Index) bool { return isAdmitted(s.nodes[i]) }

// Transitions returns the state changes of the last accepted event. The next event reuses the slice.
func (s *states) Transitions() []Transition { return s.moves }

// Rule returns the trigger rule of i.
func (s *states) Rule(i Index) Rule { return s.nodes[i].attr.Rule() }
