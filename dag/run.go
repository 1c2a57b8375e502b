package dag

// Options configure one run. The zero value is usable: no limit, Continue, no hold.
type Options struct {
	// Maximum number of metered tasks in flight; 0 means no limit. As many gated tasks may wait for their place in
	// addition, and [MaxCrowded] for resources of others.
	Concurrency int
	// OnFailure is the effect of a failure on independent branches.
	OnFailure FailurePolicy
	// Limits of the running tasks named "<name>.…", including those at their gates. Such tasks share their attributes.
	FanOuts map[string]int
	// Chains are limits for the items of fan-outs, by the name of the first fan-out.
	Chains map[string]Chain
	// Hold keeps a run that would fail until an operator acts or EventRelease ends it.
	Hold bool
}

// Run is one execution of a graph, from [NewRun], [Restore] or [Resume]. It is not safe for concurrent use.
type Run struct {
	definitions
	states
	queue
	lifecycle
	opts Options
	// swept only saves repeated scans, so it is not part of a snapshot.
	swept bool

	stack     []Index // work list of settle: tasks just become terminal
	redefined []Index
}

// node has eight bytes, so that visiting a dependant costs one cache line.
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
	// flagSwept: canceled by the policy Stop, not by an operator. It is revived when the failure is removed.
	flagSwept
	// flagGate: running without a place. With flagAdmitted it waits only for a place.
	flagGate
	flagAdmitted
	// flagCrowded: with flagGate; it waits for resources of others, or has yielded its place.
	flagCrowded
	// flagUntriggered: skipped by the rule one_failed. It is revived with any dependency.
	flagUntriggered
	flagParked
)

// NewRun prepares a run of g; nothing happens before EventStart.
func NewRun(g *Graph, opts Options) *Run {
	r := &Run{definitions: definitions{graph: g}, states: newStates(g), opts: opts}
	r.queue = newQueue(&r.definitions, &r.states)
	r.limitFanOuts(opts.FanOuts)
	r.limitChains(opts.Chains)
	return r
}

// Options returns the options in force; see [Run.FanOuts] for the limits of fan-outs.
func (r *Run) Options() Options { return r.opts }

// Outcome returns the outcome of the run; NoOutcome before its end.
func (r *Run) Outcome() Outcome {
	if r.phase != phaseFinished {
		return NoOutcome
	}
	return r.verdict(&r.counts)
}
