package dagrun

import (
	"cmp"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/jobtype"
)

// JobType has the data of a job type for its job_type tasks.
type JobType struct {
	Handler string
	Policy  jobtype.Policy
	// Bytes is the size of its settings in every attempt. Digest is a hash of them.
	Bytes  int
	Digest string
}

// CommandHandler runs command tasks.
const CommandHandler = contract.CommandHandler

// Config has the constants of a run.
type Config struct {
	// JobTypes are those that were looked up already.
	JobTypes map[string]JobType
	// Length of history from which the run continues as new; 0: the engine's default.
	RollEvents int
	// Deadline bounds the run besides the spec's own; 0: none.
	Deadline time.Duration
	// Recovery is that of the run that this one is an item of; its fail holds here, too.
	Recovery jobtype.Recovery
	// About describes the run; its start is that of the graph.
	About jobtype.RunInfo
	// Node and Labels place the tasks that name neither.
	Node   string
	Labels map[string]string
	// Lane is the lane of the group, given back while the run waits for approvals; empty: none.
	Lane string
}

// Graph is one run of a DAG. Its parts are in parts.go. It is not safe for concurrent use.
type Graph struct {
	requests
	gate gate

	lookups map[string][]*task
	endings []contract.TaskEnding
	end     *End
	buf     []dag.Decision
	out     []source.Command
}

// New prepares a run that begins at now; nothing happens before [Started].
func New(r *dag.Run, cfg Config, now time.Time) (*Graph, error) {
	g, err := open(r, cfg)
	if err != nil {
		return nil, err
	}
	g.init(now)
	return g, nil
}

func (g *Graph) init(now time.Time) {
	g.engine = run.New(g.engineConfig(), now)
	g.startedAt = now
	g.setDeadline()
	g.describe()
}

func (g *catalog) describe() {
	g.program.About = g.About()
}

// About describes the run to its tasks. Without a time from above its nominal time is its start.
func (g *catalog) About() jobtype.RunInfo {
	about := g.cfg.About
	about.StartedAt = g.startedAt.UTC().Truncate(time.Second)
	if about.ScheduledAt.IsZero() {
		about.ScheduledAt = about.StartedAt
	}
	return about
}

func open(r *dag.Run, cfg Config) (*Graph, error) {
	program, err := spec.Open(r)
	if err != nil {
		return nil, err
	}
	if cfg.JobTypes == nil {
		cfg.JobTypes = map[string]JobType{}
	}
	g := &Graph{lookups: map[string][]*task{}}
	g.catalog = catalog{cfg: cfg, run: r, program: program, shapes: map[*spec.Definition]*shape{}}
	g.live, g.results.of, g.known = map[dag.Index]*task{}, map[dag.Index]*kept{}, r.Len()
	g.refers, err = anyReference(program, 0, dag.Index(r.Len()))
	return g, err
}

// NewRun makes the run of a compiled graph, with the settings it carries.
func NewRun(compiled *dag.Graph) (*dag.Run, error) {
	header, err := spec.HeaderOf(compiled)
	if err != nil {
		return nil, err
	}
	return dag.NewRun(compiled, header.Options()), nil
}

// Names of work that is no job type: a job type's name has no parentheses.
const (
	workNone    = ""
	workCommand = "(command)"
)

func (g *catalog) engineConfig() run.Config {
	work := map[string]run.Work{
		workNone: {Policy: jobtype.Policy{Recovery: g.Recovery()}},
		// A command without ::progress shows that it lives only by its end and its timeout.
		workCommand: {Handler: CommandHandler, Policy: jobtype.Policy{
			Liveness: jobtype.LivenessProcess, ExecutionTimeout: spec.DefaultTimeout, Recovery: g.Recovery(),
		}.WithDefaults()},
	}
	//workflowcheck:ignore each goes to a place of its own
	for name, found := range g.cfg.JobTypes {
		work[name] = g.workOf(name, found)
	}
	return run.Config{Work: work, Claims: true, Admit: true, Adopt: true, RollEvents: g.cfg.RollEvents}
}

// Recovery is the effect of a lost worker on the run.
func (g *catalog) Recovery() jobtype.Recovery {
	if g.cfg.Recovery == jobtype.RecoveryFail {
		return g.cfg.Recovery
	}
	return cmp.Or(g.program.Header.Recovery, jobtype.RecoveryResume)
}

// LostWorker reports whether the run ends because a task lost its worker.
func (g *views) LostWorker() bool { return g.lost }

// The recovery of a job type is for its own groups.
func (g *catalog) workOf(name string, found JobType) run.Work {
	found.Policy.Recovery = g.Recovery()
	return run.Work{Handler: found.Handler, JobType: name, Policy: found.Policy.WithDefaults(), Bytes: found.Bytes}
}

func (g *waits) setDeadline() {
	limit := g.program.Header.Deadline.Std()
	if own := g.cfg.Deadline; own > 0 && (limit <= 0 || own < limit) {
		limit = own
	}
	if limit > 0 {
		g.deadline = g.startedAt.Add(limit)
		g.timers.Push(timer{at: g.deadline, kind: timerDeadline})
	}
}

func (g *Graph) advance(now time.Time) []source.Command {
	g.now = now
	g.fireTimers(now)
	for {
		for g.next < len(g.starts) && g.mayBegin() {
			i := g.starts[g.next]
			g.next++
			g.beginTask(i, now)
		}
		g.starts, g.next = append(g.starts[:0], g.starts[g.next:]...), 0
		g.makeWay(now)
		decisions, reports := g.engine.Take(now)
		for k := range decisions {
			g.pass(&decisions[k], now)
		}
		for k := range reports {
			g.take(&reports[k], now)
		}
		if len(decisions)+len(reports) == 0 && (len(g.starts) == 0 || g.lane.State != laneHeld) {
			break
		}
	}
	g.shareLane(now)
	g.noteFull(now)
	if len(g.endings) > 0 {
		g.do(ReportEndings{g.endings})
		g.endings = nil
	}
	if g.end != nil {
		g.do(*g.end)
		g.end = nil
	}
	return g.out
}

func (g *Graph) do(c source.Command) { g.out = append(g.out, c) }

// must is feed for events that cannot be refused. A refusal is a defect: the workflow task fails, and the run waits
// for a corrected program.
func (g *Graph) must(ev dag.Event, now time.Time) {
	if err := g.feed(ev, now); err != nil {
		panic(fmt.Sprintf("graph: %v", err))
	}
}

// feed reports an event to dag.Run and notes its decisions. With an error nothing has changed.
func (g *Graph) feed(ev dag.Event, now time.Time) error {
	decisions, err := g.run.Next(ev, g.buf[:0])
	if err != nil {
		return err
	}
	g.buf = decisions
	switch ev.Kind { //nolint:exhaustive // the others bring nothing back
	case dag.EventRetry, dag.EventRerun, dag.EventSkip:
		g.book.reopen(g.run.Transitions())
		g.noteRerun(g.run.Transitions())
	}
	g.continues.follow(g.run.Transitions())
	if g.refers {
		g.followResults()
	}
	g.engine.Changed(now)
	g.noteMoves(g.run.Transitions(), now)
	if g.run.Len() > g.known {
		g.noteCreation(dag.Index(g.known), now) //nolint:gosec // a number of tasks
		g.grown()
	}
	if len(g.run.Redefined()) > 0 {
		g.recount()
	}
	var cancels []dag.Index
	for _, d := range decisions {
		switch d.Kind {
		case dag.DecisionStart:
			g.starts = append(g.starts, d.Task)
		case dag.DecisionProceed:
			g.proceed(d.Task, now)
		case dag.DecisionHold:
			g.heldUntil = now.Add(g.program.Header.HoldOnFailure.Std())
			g.timers.Push(timer{at: g.heldUntil, kind: timerRelease})
		case dag.DecisionFinish:
			g.outcome = d.Outcome
			g.end = &End{Outcome: d.Outcome, Reason: g.reason}
		case dag.DecisionCancel:
			cancels = append(cancels, d.Task)
		}
	}
	// Canceling may report at once, which uses the buffer of decisions again.
	for _, i := range cancels {
		g.cancel(i, now)
	}
	return nil
}

// Run gives the states, to look at.
func (g *catalog) Run() *dag.Run { return g.run }

// Outcome is how the run ended; dag.NoOutcome while it has not.
func (g *views) Outcome() dag.Outcome { return g.outcome }

// StartedAt is when the run began.
func (g *catalog) StartedAt() time.Time { return g.startedAt }

// ShouldContinueAsNew reports whether this is the moment to continue as new.
func (g *Graph) ShouldContinueAsNew() bool {
	return g.engine.ShouldContinueAsNew() && len(g.lookups) == 0 && !g.run.Finished()
}

// Engine returns the engine of the run, which has its pause, fleet, history and notes. Its items are tasks.
func (g *tasks) Engine() *run.Engine { return g.engine }
