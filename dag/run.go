package dag

import (
	"slices"

	"github.com/roundsman/roundsman/dag/internal/graph"
	"github.com/roundsman/roundsman/dag/internal/ready"
)

// Options configure one run. The zero value is usable: no limit, Continue, no hold.
type Options struct {
	// Concurrency is the maximum number of metered tasks in flight; 0 or less means no limit. The same number
	// of gated tasks may wait for their place in addition, and [MaxCrowded] for resources of others.
	Concurrency int
	// OnFailure is the effect of a failure on independent branches.
	OnFailure FailurePolicy
	// FanOuts are limits for the tasks named "<name>.…": the maximum running at a time, including
	// those at their gates. Such tasks share their priority and their gated and unmetered attributes.
	FanOuts map[string]int
	// Chains are limits for the items of fan-outs, by the name of the first fan-out.
	Chains map[string]Chain
	// Hold keeps a run that would fail until an operator acts or EventRelease ends it.
	Hold bool
}

// Run is one execution of a graph, created by [NewRun], [Restore] or [Resume]. [Run.Next] feeds it. It
// is not safe for concurrent use.
type Run struct {
	graph  *Graph
	opts   Options
	nodes  []node
	phase  phase
	paused bool
	// ending is set once a cancel or a deadline ends the run.
	ending ending
	// swept: a sweep left nothing to cancel. It only saves repeated scans, so it is not part of a
	// snapshot.
	swept  bool
	counts [stateCount]int
	flight int // metered tasks running in a place
	gates  int // gated tasks running without one, except crowded ones
	// crowded counts the gated tasks that wait for resources of others.
	crowded int
	ready   readySet
	gated   readySet
	gating  bool // there has been a gated task
	// admitted holds the gated tasks that wait only for a place.
	admitted ready.Heap
	free     ready.Heap         // ready unmetered tasks
	growth   *growth            // nil until tasks are added
	fanOuts  map[string]*fanOut // those with their own limit; nil without any
	chains   chains
	order    order // nil until a growth needs it
	families graph.Families
	origins  origins

	stack     []Index // work list of settle: tasks just become terminal
	moves     []Transition
	redefined []Index
}

// node is the state of one task, kept to eight bytes so that visiting a dependant costs one cache
// line.
type node struct {
	wait  int32 // dependencies that are not terminal
	state State
	attr  attr
	flag  flag
}

type flag uint8

const (
	// flagCanceling: running, and DecisionCancel was returned.
	flagCanceling flag = 1 << iota
	// flagSwept: canceled by the policy Stop of the run or of a chain, not by an operator. It is revived when the failure is
	// removed.
	flagSwept
	// flagGate: running, without a place, because it is gated or has yielded it. With flagAdmitted in addition it waits only for a
	// place.
	flagGate
	flagAdmitted
	// flagCrowded: with flagGate; it waits for resources of others, or has yielded its place.
	flagCrowded
	// flagUntriggered: skipped by the rule one_failed without a failed dependency. It is revived with
	// any dependency.
	flagUntriggered
	// flagParked: ready, and parked because its fan-out or the chain of its item has reached its limit.
	flagParked
)

type phase uint8

const (
	phaseNew phase = iota
	phaseActive
	phaseHeld
	phaseFinished
)

type ending uint8

const (
	endingNone ending = iota
	endingCanceled
	endingCanceledHard
	endingDeadline
	endingDeadlineHard

	endingCount
)

// hard reports whether tasks with the rule always are canceled too.
func (e ending) hard() bool { return e == endingCanceledHard || e == endingDeadlineHard }

// NewRun prepares a run of g; nothing happens before EventStart.
func NewRun(g *Graph, opts Options) *Run {
	r := &Run{graph: g, opts: opts, nodes: make([]node, g.Len()), ready: readySet{own: ready.NewRankSet(g.Len())}}
	for i := range r.nodes {
		r.nodes[i] = node{
			wait: int32(len(g.Needs(Index(i)))),
			attr: g.Attr(Index(i)),
		}
	}
	r.counts[Pending] = len(r.nodes)
	r.limitFanOuts(opts.FanOuts)
	r.limitChains(opts.Chains)
	return r
}

// Graph returns the graph of the run, without added tasks.
func (r *Run) Graph() *Graph { return r.graph }

// Options returns the options in force; Concurrency may have changed. [Run.FanOuts] returns the limits
// of fan-outs in force.
func (r *Run) Options() Options { return r.opts }

// Len returns the number of tasks, including added ones.
func (r *Run) Len() int { return len(r.nodes) }

// State returns the state of task i.
func (r *Run) State(i Index) State { return r.nodes[i].state }

// Canceling reports whether a running task was requested to cancel.
func (r *Run) Canceling(i Index) bool { return r.nodes[i].flag&flagCanceling != 0 }

// Count returns the number of tasks in a state.
func (r *Run) Count(s State) int { return r.counts[s] }

// InFlight returns the number of running metered tasks, except gated ones without a place.
func (r *Run) InFlight() int { return r.flight }

// AtGate returns the number of started gated tasks without a place, except crowded ones.
func (r *Run) AtGate() int { return r.gates }

// Crowded returns the number of started tasks that wait for resources of others, or have yielded.
func (r *Run) Crowded() int { return r.crowded }

// Gated reports whether i takes its place only after EventAdmit.
func (r *Run) Gated(i Index) bool { return r.nodes[i].attr.Gated() }

// IsFanOut reports whether i stands for a fan-out whose tasks another task adds.
func (r *Run) IsFanOut(i Index) bool { return r.nodes[i].attr.FanOut() }

// Under returns the fan-out of the added task i; None for other tasks.
func (r *Run) Under(i Index) Index {
	if k := int(i) - r.graph.Len(); k >= 0 {
		return r.growth.tasks[k].under
	}
	return None
}

// Admitted reports whether the gated task i was admitted and still waits for its place.
func (r *Run) Admitted(i Index) bool { return isAdmitted(r.nodes[i]) }

// Started reports whether the run got EventStart.
func (r *Run) Started() bool { return r.phase != phaseNew }

// Paused reports whether the start of tasks is paused.
func (r *Run) Paused() bool { return r.paused }

// Held reports whether the run waits for an operator.
func (r *Run) Held() bool { return r.phase == phaseHeld }

// Ending reports whether the run is being canceled or has passed its deadline.
func (r *Run) Ending() bool { return r.ending != endingNone }

// Finished reports whether the run is over.
func (r *Run) Finished() bool { return r.phase == phaseFinished }

// Outcome returns the outcome of the run; NoOutcome before its end.
func (r *Run) Outcome() Outcome {
	if r.phase != phaseFinished {
		return NoOutcome
	}
	return r.verdict()
}

// Transitions returns the state changes of the last accepted event in their order. The next event
// reuses the slice.
func (r *Run) Transitions() []Transition { return r.moves }

// ID returns the id of task i.
func (r *Run) ID(i Index) string {
	if k := int(i) - r.graph.Len(); k >= 0 {
		return r.growth.tasks[k].id
	}
	return r.graph.ID(i)
}

// Lookup finds a task by id.
func (r *Run) Lookup(id string) (Index, bool) {
	if i, ok := r.graph.Lookup(id); ok || r.growth == nil {
		return i, ok
	}
	if i, ok := r.growth.byID[id]; ok {
		return i, true
	}
	return None, false
}

// Needs returns the direct dependencies of i, ascending within the graph and within the growth. Do not
// modify the slice.
func (r *Run) Needs(i Index) []Index {
	var base []Index
	if r.ranked(i) {
		base = r.graph.Needs(i)
	}
	if r.growth == nil || len(r.growth.needs[i]) == 0 {
		return base
	}
	return slices.Concat(base, r.growth.needs[i])
}

// Dependants returns the direct dependants of i. Do not modify the slice.
func (r *Run) Dependants(i Index) []Index {
	base, more := r.dependants(i)
	if len(more) == 0 {
		return base
	}
	return slices.Concat(base, more)
}

// dependants returns the rows of the graph and of the growth without copying.
func (r *Run) dependants(i Index) (base, more []Index) {
	if int(i) < r.graph.Len() {
		base = r.graph.Dependants(i)
	}
	if r.growth != nil {
		more = r.growth.deps[i]
		if row, changed := r.growth.rows[i]; changed {
			base = row
		}
	}
	return base, more
}

// Priority returns the priority of i.
func (r *Run) Priority(i Index) int32 {
	if d := r.latest(i); d != nil {
		return d.priority
	}
	if k := int(i) - r.graph.Len(); k >= 0 {
		return r.growth.tasks[k].priority
	}
	return r.graph.Priority(i)
}

// Rule returns the trigger rule of i.
func (r *Run) Rule(i Index) Rule { return r.nodes[i].attr.Rule() }

// Payload returns the payload of i, nil if it has none. Do not modify it.
func (r *Run) Payload(i Index) []byte {
	if d := r.latest(i); d != nil {
		return d.payload
	}
	if k := int(i) - r.graph.Len(); k >= 0 {
		return r.growth.tasks[k].payload
	}
	return r.graph.Payload(i)
}

// Args returns the second payload of i, nil if it has none. Do not modify it.
func (r *Run) Args(i Index) []byte {
	if d := r.latest(i); d != nil {
		return d.args
	}
	if k := int(i) - r.graph.Len(); k >= 0 {
		return r.growth.tasks[k].args
	}
	return r.graph.Args(i)
}

// AddedBy returns the splitter of task i; None for a task of the graph or of an operator.
func (r *Run) AddedBy(i Index) Index {
	if k := int(i) - r.graph.Len(); k >= 0 {
		return r.growth.tasks[k].parent
	}
	return None
}

// verdict returns the outcome implied by the states and the ending.
func (r *Run) verdict() Outcome {
	switch {
	case r.ending == endingCanceled || r.ending == endingCanceledHard:
		return OutcomeCanceled
	case r.ending != endingNone, r.counts[Failed]+r.counts[UpstreamFailed]+r.counts[Canceled] > 0:
		return OutcomeFailed
	}
	return OutcomeCompleted
}
