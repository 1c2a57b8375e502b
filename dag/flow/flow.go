package flow

import (
	"fmt"
	"time"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/placement"
	"github.com/roundsman/roundsman/jobtype"
)

// Worker is one worker as a run may use it.
type Worker = placement.Member[Offer]

// Offer is what a worker can do.
type Offer struct {
	// Slots is how much it runs at once, over all handlers.
	Slots int
	// Handlers it executes, with a cap of their own; 0: only Slots limits.
	Handlers map[string]int
	// JobTypes restricts it to these; empty: no restriction.
	JobTypes []string
	// Shared lists the job types whose shared queue it pulls.
	Shared []string
}

// JobType is what a job_type task has to know of its job type.
type JobType struct {
	Handler string
	Policy  jobtype.Policy
	// Bytes is what every attempt carries of its settings.
	Bytes int
}

// CommandHandler runs command tasks.
const CommandHandler = "command"

// Config is what does not change during a run.
type Config struct {
	// JobTypes are those that were looked up already.
	JobTypes map[string]JobType
	// RollEvents is the length of the history from which on the run continues as
	// new when it can. Default 20,000.
	RollEvents int
	// Deadline bounds the run beside the spec's own; 0: none.
	Deadline time.Duration
	// Node and Labels say where tasks run that name neither.
	Node   string
	Labels map[string]string
}

// Flow is one run. Make it with [New] or [Restore]; it is not safe for
// concurrent use.
type Flow struct {
	cfg     Config
	run     *dag.Run
	program *spec.Program
	// refers: some task refers to a result. It saves looking where none does.
	refers bool

	live    map[dag.Index]*task
	starts  []dag.Index // started by dag.Run, not yet begun
	next    int         // head of starts
	book    book
	results results
	fleet   placement.Fleet[Offer]
	classes []*class
	byKey   map[string]*class
	epoch   int
	seq     int
	timers  timers
	roll    rollover

	startedAt time.Time
	deadline  time.Time
	heldUntil time.Time
	// pausedAt, pausedBy and pauseNote describe the pause, if there is one.
	pausedAt  time.Time
	pausedBy  string
	pauseNote string
	// fullSince is when the run's concurrency was used up, gateSince when as many
	// tasks asked for resources; zero while they do not.
	fullSince, gateSince time.Time
	reason               string // why the run was canceled or is over
	fence                int64
	inFlight             int
	watching             bool
	// tryAt is when a worker that looks full may be tried.
	tryAt time.Time
	// reprobe: probes were lost with the workflow run before.
	reprobe bool
	// lookups has the tasks that wait for a job type to be looked up.
	lookups map[string][]*task
	// asks counts the requests for resources; granted has the tasks that have them,
	// and a place, and have not gone on.
	asks    int
	granted []dag.Index
	// nested counts the sub-DAGs in flight, yielded the tasks that gave their
	// resources back because of them.
	nested, yielded int

	buf     []dag.Decision
	out     []Decision
	notes   placement.Notes
	outcome dag.Outcome
}

// New prepares a run that begins at now; nothing happens before [Flow.Start].
// run is a fresh one, or one made by [Resume].
func New(run *dag.Run, cfg Config, now time.Time) (*Flow, error) {
	f, err := open(run, cfg)
	if err != nil {
		return nil, err
	}
	f.startedAt, f.fence = now, now.UnixMilli()<<20
	f.setDeadline()
	return f, nil
}

// Renew makes the next fences greater than all of before now: the run was reset, and
// has forgotten which it gave.
func (f *Flow) Renew(now time.Time) { f.fence = max(f.fence, now.UnixMilli()<<20) }

func open(run *dag.Run, cfg Config) (*Flow, error) {
	program, err := spec.Open(run)
	if err != nil {
		return nil, err
	}
	if cfg.JobTypes == nil {
		cfg.JobTypes = map[string]JobType{}
	}
	f := &Flow{
		cfg: cfg, run: run, program: program,
		live: map[dag.Index]*task{}, byKey: map[string]*class{}, epoch: 1,
		lookups: map[string][]*task{},
		results: results{of: map[dag.Index]*kept{}},
	}
	if f.refers, err = anyReference(run, program); err != nil {
		return nil, err
	}
	return f, nil
}

// NewRun makes the run of a compiled graph, with the settings it carries.
func NewRun(graph *dag.Graph) (*dag.Run, error) {
	header, err := spec.HeaderOf(graph)
	if err != nil {
		return nil, err
	}
	return dag.NewRun(graph, header.Options()), nil
}

func (f *Flow) setDeadline() {
	limit := f.program.Header.Deadline.Std()
	if own := f.cfg.Deadline; own > 0 && (limit <= 0 || own < limit) {
		limit = own
	}
	if limit > 0 {
		f.deadline = f.startedAt.Add(limit)
		f.timers.push(timer{at: f.deadline, kind: timerDeadline})
	}
}

// Start begins the run.
func (f *Flow) Start(now time.Time) []Decision {
	f.begin()
	f.must(dag.Event{Kind: dag.EventStart}, now)
	return f.advance(now)
}

// Tick says that time has passed: [Flow.NextWake] was reached.
func (f *Flow) Tick(now time.Time) []Decision {
	f.begin()
	f.fireTimers(now)
	return f.advance(now)
}

// SetWorkers replaces the view of the workers.
func (f *Flow) SetWorkers(now time.Time, view []Worker) []Decision {
	f.begin()
	f.fleet.Update(view)
	f.unblock()
	f.loseGone(now)
	f.fireTimers(now)
	return f.advance(now)
}

// Probed answers a [Probe] decision.
func (f *Flow) Probed(now time.Time, id, instance string, alive bool, beat Beat) []Decision {
	f.begin()
	f.hearBeat(id, instance, beat, now)
	if alive && f.fleet.Trust(id, instance) {
		f.unblock()
	}
	f.fireTimers(now)
	return f.advance(now)
}

// begin starts a step.
func (f *Flow) begin() {
	f.out = f.out[:0]
	if !f.reprobe {
		return
	}
	f.reprobe = false
	for _, w := range f.fleet.Members() {
		if w.Suspect {
			f.decide(Decision{Kind: Probe, Task: dag.None, ID: w.ID, Instance: w.Instance})
		}
	}
}

// advance begins what dag.Run has started and places what waits for a worker.
// The slice is valid until the next step.
func (f *Flow) advance(now time.Time) []Decision {
	f.updateHold(now)
	f.useGranted(now)
	for !f.roll.hold && f.next < len(f.starts) {
		i := f.starts[f.next]
		f.next++
		f.beginTask(i, now)
	}
	if f.next == len(f.starts) {
		f.starts, f.next = f.starts[:0], 0
	}
	f.makeWay(now)
	f.place(now)
	f.noteFull(now)
	return f.out
}

func (f *Flow) decide(d Decision) { f.out = append(f.out, d) }

// must is feed for events that cannot be refused. A refusal is a defect: it fails the
// workflow task, and the run waits for a corrected program instead of going on wrong.
func (f *Flow) must(ev dag.Event, now time.Time) {
	if err := f.feed(ev, now); err != nil {
		panic(fmt.Sprintf("flow: %v", err))
	}
}

// feed tells dag.Run an event and notes what it decides. Nothing has changed if
// it returns an error.
func (f *Flow) feed(ev dag.Event, now time.Time) error {
	decisions, err := f.run.Next(ev, f.buf[:0])
	if err != nil {
		return err
	}
	f.buf = decisions
	switch ev.Kind { //nolint:exhaustive // the others bring nothing back
	case dag.EventRetry, dag.EventRerun, dag.EventSkip:
		f.book.reopen(f.run.Transitions())
	}
	if f.refers {
		f.followResults()
	}
	for _, d := range decisions {
		switch d.Kind {
		case dag.DecisionStart:
			f.starts = append(f.starts, d.Task)
		case dag.DecisionProceed:
			f.granted = append(f.granted, d.Task)
		case dag.DecisionHold:
			f.heldUntil = now.Add(f.program.Header.HoldOnFailure.Std())
			f.timers.push(timer{at: f.heldUntil, kind: timerRelease})
		case dag.DecisionFinish:
			f.outcome = d.Outcome
			f.decide(Decision{Kind: End, Task: dag.None, Outcome: d.Outcome, Reason: f.reason})
		case dag.DecisionCancel:
		}
	}
	// Canceling may report at once, which uses the buffer of decisions again.
	for _, i := range cancels(decisions) {
		f.cancel(i, now)
	}
	return nil
}

func cancels(decisions []dag.Decision) []dag.Index {
	var list []dag.Index
	for _, d := range decisions {
		if d.Kind == dag.DecisionCancel {
			list = append(list, d.Task)
		}
	}
	return list
}

// Run gives the states, for looking at.
func (f *Flow) Run() *dag.Run { return f.run }

// Outcome is how the run ended; dag.NoOutcome while it has not.
func (f *Flow) Outcome() dag.Outcome { return f.outcome }

// StartedAt is when the run began.
func (f *Flow) StartedAt() time.Time { return f.startedAt }

// wantsWorker reports whether a task of this definition runs on a worker.
func wantsWorker(d *spec.Definition) bool {
	switch d.Kind {
	case spec.KindCommand, spec.KindJobType:
		return true
	case spec.KindNoop:
		return d.Node != "" || len(d.Labels) > 0
	case spec.KindSleep, spec.KindApproval, spec.KindDAG:
	}
	return false
}
