package flow

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
)

// TaskView is one task as people see it.
type TaskView struct {
	ID       string
	Kind     spec.Kind
	Needs    []string
	State    dag.State
	Attempts int
	Worker   string
	Error    string
	// From is the run that produced the state, where that is an earlier one.
	From string
	// Waiting says what a task waits for that has begun and does not run.
	Waiting   string
	Until     time.Time
	StartedAt time.Time
	Result    json.RawMessage
}

// Filter chooses tasks; a zero field chooses all.
type Filter struct {
	States []string
	// Task is an id, or that of an entry that fans out.
	Task          string
	Offset, Limit int
}

// Tasks returns one page of the tasks that the filter chooses, in declaration
// order, and how many it chooses in all.
func (f *Flow) Tasks(filter Filter) ([]TaskView, int) {
	var views []TaskView
	total := 0
	for i := range dag.Index(f.run.Len()) {
		if len(filter.States) > 0 && !slices.Contains(filter.States, f.run.State(i).String()) {
			continue
		}
		if id := f.run.ID(i); filter.Task != "" && id != filter.Task && !strings.HasPrefix(id, filter.Task+".") {
			continue
		}
		if total >= filter.Offset && len(views) < filter.Limit {
			views = append(views, f.View(i))
		}
		total++
	}
	return views, total
}

// View describes one task.
func (f *Flow) View(i dag.Index) TaskView {
	v := TaskView{
		ID: f.run.ID(i), State: f.run.State(i), Attempts: f.attempts(i), Worker: f.book.worker(i),
		Error: f.book.errors[i], From: f.run.From(i), Result: f.results.get(i),
	}
	if definition, err := f.program.Definition(i); err == nil {
		v.Kind = definition.Kind
	}
	for _, n := range f.run.Needs(i) {
		v.Needs = append(v.Needs, f.run.ID(n))
	}
	if t := f.live[i]; t != nil {
		v.Attempts, v.Worker, v.StartedAt, v.Until = t.attempt, t.worker, t.startedAt, t.until
		v.Waiting = f.waiting(t)
		if v.Error == "" {
			v.Error = t.note
		}
	}
	return v
}

func (f *Flow) attempts(i dag.Index) int {
	if n, ok := f.book.attempts[i]; ok {
		return n
	}
	return implied(f.run.State(i))
}

// waiting says why a task that has begun does not run, or "".
func (f *Flow) waiting(t *task) string {
	switch t.phase {
	case phaseWaiting:
		switch {
		case f.run.Paused():
			return "the run is paused: " + f.pauseNote
		case !t.class.nobodySince.IsZero():
			return t.class.missing()
		}
		return "all fitting workers are busy"
	case phaseBackoff:
		return "the next attempt: " + t.note
	case phaseRecalling:
		return "worker " + t.worker + " was lost; its outcome may still arrive"
	case phaseSleeping:
		return "sleeps " + t.definition.Sleep.String()
	case phaseApproval:
		return strings.TrimSuffix("an approval: "+t.rendered.Prompt, ": ")
	case phaseLookup:
		return "job type " + t.definition.JobType + " is being looked up"
	case phaseResources:
		return "resources: " + t.ask.spell()
	case phaseGranted, phaseYielded:
		if f.run.Paused() {
			return "the run is paused: " + f.pauseNote
		}
		switch {
		case t.phase == phaseYielded:
			return "a place: sub-DAGs have them all"
		case f.run.Admitted(t.i):
			return "a place; it has its resources"
		}
	case phaseNone, phaseRunning:
	}
	return ""
}

// Approvals lists the tasks that wait for a person.
func (f *Flow) Approvals(limit int) []TaskView {
	var views []TaskView
	for _, i := range f.liveTasks() {
		if f.live[i].phase == phaseApproval && len(views) < limit {
			views = append(views, f.View(i))
		}
	}
	return views
}

// Counts says how many tasks are in each state that occurs, by its name.
func (f *Flow) Counts() map[string]int {
	counts := map[string]int{}
	for _, s := range dag.States() {
		if n := f.run.Count(s); n > 0 {
			counts[s.String()] = n
		}
	}
	return counts
}

// Status is the run as a whole.
type Status struct {
	StartedAt, Deadline, HeldUntil time.Time
	PausedBy, PauseNote            string
	Reason, Waiting                string
	Workers                        []*Worker
}

// Status describes the run; its states are those of [Flow.Run].
func (f *Flow) Status() Status {
	s := Status{
		StartedAt: f.startedAt, Deadline: f.deadline, PausedBy: f.pausedBy, PauseNote: f.pauseNote, Reason: f.reason, Workers: f.fleet.Members(),
	}
	switch {
	case f.run.Finished():
	case f.run.Held():
		s.HeldUntil = f.heldUntil
		s.Waiting = "held after a failure: retry or skip tasks, or release the run"
	case f.run.Paused():
		s.Waiting = f.pauseText()
	default:
		s.Waiting = cmp.Or(f.nobody(), f.starved())
	}
	return s
}

// pauseText says who paused the run, and why.
func (f *Flow) pauseText() string {
	text := "the run is paused"
	if f.pausedBy != "" {
		text += " by " + f.pausedBy
	}
	if f.pauseNote != "" {
		text += ": " + f.pauseNote
	}
	return text
}

// nobody says which kind of worker is missing.
func (f *Flow) nobody() string {
	for _, c := range f.classes {
		if !c.nobodySince.IsZero() && len(c.waiting) > 0 {
			return c.missing()
		}
	}
	return ""
}
