package dagrun

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/instant"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/jobtype"
)

// TaskView is one task as people see it.
type TaskView struct {
	ID    string
	Kind  spec.Kind
	Needs []string
	State dag.State
	// Name is the state as people see it, see [Graph.StateName].
	Name     string
	Attempts int
	Worker   string
	Error    string
	// From is the other run that produced the state, FromTask the task with the same key that produced the result.
	From, FromTask string
	// Redefined: its definition was replaced after the run had begun.
	Redefined bool
	// Waiting is the wait of a begun task that does not run.
	Waiting   string
	Until     time.Time
	Timeout   jobtype.Duration // of one attempt
	StartedAt time.Time
	EndedAt   time.Time
	// Times of joining the run and of the last state; zero: unknown.
	CreatedAt, ModifiedAt time.Time
	Result                json.RawMessage
}

// Filter chooses tasks; a zero field chooses all.
type Filter struct {
	States []string
	// Task is an id, or that of an entry that fans out.
	Task string
	// Key is an id, or a task's key, or the item of a fan-out as it is written in the DAG, or a value of its matrix.
	Key           string
	Offset, Limit int
}

// Tasks returns one page of the tasks that match the filter, in declaration order, and their total number.
func (g *views) Tasks(filter Filter) ([]TaskView, int) {
	var views []TaskView
	total := 0
	for i := range dag.Index(g.run.Len()) {
		if len(filter.States) > 0 && !slices.Contains(filter.States, g.StateName(i)) {
			continue
		}
		if id := g.run.ID(i); filter.Task != "" && id != filter.Task && !strings.HasPrefix(id, filter.Task+".") {
			continue
		}
		if filter.Key != "" && g.run.ID(i) != filter.Key && !g.program.ForItem(i, filter.Key) && !g.hasKey(i, filter.Key) {
			continue
		}
		if total >= filter.Offset && len(views) < filter.Limit {
			views = append(views, g.View(i))
		}
		total++
	}
	return views, total
}

func (g *views) hasKey(i dag.Index, key string) bool {
	if t := g.live[i]; t != nil && t.rendered != nil {
		return t.rendered.Key == key
	}
	definition, err := g.program.Definition(i)
	return err == nil && definition.Key == key
}

// View describes one task.
func (g *views) View(i dag.Index) TaskView {
	v := TaskView{
		ID: g.run.ID(i), State: g.run.State(i), Name: g.StateName(i), Attempts: g.attempts(i), Worker: g.book.worker(i),
		Error: g.book.errors[i], From: g.run.From(i), Redefined: g.run.IsRedefined(i), Result: g.results.get(i),
	}
	v.StartedAt, v.EndedAt = g.times(i)
	v.CreatedAt, v.ModifiedAt = g.createdAt(i), g.modifiedAt(i)
	if from, ok := g.book.taken[i]; ok {
		at := strings.LastIndexByte(from, '/')
		v.From, v.FromTask = from[:at], from[at+1:]
	}
	if definition, err := g.program.Definition(i); err == nil {
		v.Kind, v.Timeout = definition.Kind, definition.Timeout
	}
	for _, n := range g.run.Needs(i) {
		v.Needs = append(v.Needs, g.run.ID(n))
	}
	if t := g.live[i]; t != nil {
		g.viewBegun(t, &v)
	}
	return v
}

func (g *views) viewBegun(t *task, v *TaskView) {
	v.StartedAt, v.Until, v.Waiting = t.startedAt, t.until, g.waiting(t)
	v.ModifiedAt = instant.Later(t.startedAt, t.beganAt)
	item, ok := g.engine.View(int(t.i))
	if !ok {
		return
	}
	v.Attempts, v.Worker = item.Attempt, item.Worker
	v.ModifiedAt = instant.Later(v.ModifiedAt, item.ChangedAt)
	v.Error = cmp.Or(v.Error, item.Error)
	if !item.Idle && !item.StartedAt.IsZero() {
		v.StartedAt = item.StartedAt
	}
	if item.Phase == run.PhaseWaiting {
		v.Until = item.ReadyAt
	}
}

func (g *records) attempts(i dag.Index) int {
	if n, ok := g.book.attempts[i]; ok {
		return n
	}
	return implied(g.run.State(i))
}

func (g *waits) waiting(t *task) string {
	item, _ := g.engine.View(int(t.i))
	switch {
	case g.run.Paused() && g.stoppedByPause(t.i):
		return g.engine.Paused().Wait().Detail
	case t.phase == phaseSleeping:
		return "sleeps " + t.definition.Sleep.String()
	case t.phase == phaseApproval:
		return explain.TextPrompt(t.rendered.Prompt)
	case t.phase == phaseLookup:
		return explain.TextLookedUp(t.definition.JobType)
	case t.phase == phaseYielded:
		return explain.TextYielded
	case t.admitted:
		return explain.TextAdmitted
	case item.Phase == run.PhaseWaiting:
		if item.Error == "" {
			return g.engine.WaitOf(int(t.i), g.now).Detail
		}
		return explain.TextNextAttempt(item.Error)
	case item.Phase == run.PhaseAsking:
		return "resources: " + g.needs(t).String()
	case item.Phase == run.PhaseRunning:
		return ""
	}
	return g.engine.WaitOf(int(t.i), g.now).Detail
}

// Approvals lists the tasks that wait for a person.
func (g *views) Approvals(limit int) []TaskView {
	var views []TaskView
	for _, t := range g.begun() {
		if t.phase == phaseApproval && len(views) < limit {
			views = append(views, g.View(t.i))
		}
	}
	return views
}

// Counts returns the number of tasks by the name of their state.
func (g *records) Counts() map[string]int {
	counts := map[string]int{}
	for _, s := range dag.States() {
		if n := g.run.Count(s); n > 0 {
			counts[s.String()] = n
		}
	}
	if n := g.warnings(); n > 0 {
		counts[contract.JobWarning] = n
		if counts[dag.Completed.String()] -= n; counts[dag.Completed.String()] == 0 {
			delete(counts, dag.Completed.String())
		}
	}
	return counts
}

// Status is the run as a whole.
type Status struct {
	StartedAt, Deadline, HeldUntil time.Time
	ModifiedAt                     time.Time
	PausedBy, PauseNote            string
	Reason, Waiting                string
	Workers                        []run.WorkerUse
}

// Status describes the run; its states are those of [Graph.Run].
func (g *views) Status(now time.Time) Status {
	s := Status{
		StartedAt: g.startedAt, Deadline: g.deadline, PausedBy: g.engine.Paused().By, PauseNote: g.engine.Paused().Note, Reason: g.reason,
		Workers: g.engine.Workers(workNone, now), ModifiedAt: g.engine.ChangedAt(),
	}
	switch {
	case g.run.Finished():
	case g.run.Held():
		s.HeldUntil, s.Waiting = g.heldUntil, explain.TextRunHeld
	case g.run.Paused():
		s.Waiting = g.engine.Paused().Wait().Detail
	default:
		s.Waiting = cmp.Or(g.engine.Missing(), g.starved())
	}
	return s
}

func (g *waits) starved() string {
	if g.engine.Busy() > 0 {
		return ""
	}
	for _, t := range g.begun() {
		if t.asking {
			return explain.TextTaskResources(g.run.ID(t.i), g.needs(t))
		}
	}
	return ""
}
