package flow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
)

// Request is what an operator asks of a run.
type Request struct {
	Kind RequestKind
	// Tasks it is about; none with Retry means all that failed.
	Tasks []string
	// Data are tasks to add, as JSON or YAML, File what faults in it are reported
	// under.
	Data []byte
	File string
	// Limit is the new concurrency.
	Limit int
	// By and Note are the operator's.
	By, Note string
}

// RequestKind says what is asked for.
type RequestKind uint8

// The requests; dag.Run's events of the same names say what they do.
const (
	Retry RequestKind = iota
	Skip
	Rerun
	CancelTask
	Add
	SetConcurrency
	Release
	// Approve and Reject answer a task that waits for an approval.
	Approve
	Reject
)

// Check says why a request would be refused, or nil. It changes nothing.
func (f *Flow) Check(req Request) error {
	if req.Kind == Approve || req.Kind == Reject {
		_, err := f.awaiting(req)
		return err
	}
	events, blame, err := f.translate(req)
	if err != nil {
		return err
	}
	trial, err := dag.Restore(f.run.Graph(), f.run.Snapshot())
	if err != nil {
		return fmt.Errorf("the run cannot be copied: %w", err)
	}
	for _, ev := range events {
		if _, err := trial.Next(ev, nil); err != nil {
			return blame(err)
		}
	}
	return f.checkResults(trial)
}

// checkResults refuses what would run a task whose input is not there any more.
func (f *Flow) checkResults(trial *dag.Run) error {
	if !f.refers {
		return nil
	}
	program, err := spec.Open(trial)
	if err != nil {
		return err
	}
	for i := range dag.Index(trial.Len()) {
		if trial.State(i).Terminal() || int(i) < f.run.Len() && !f.run.State(i).Terminal() {
			continue
		}
		missing, err := gone(trial, program, i, func(n dag.Index) bool { return f.results.of[n] != nil })
		if err != nil {
			return err
		}
		if len(missing) > 0 {
			return fmt.Errorf("task %q refers to the result of %q, which is not kept any more; rerun %q instead", trial.ID(i), trial.ID(missing[0]), trial.ID(missing[0]))
		}
	}
	return nil
}

// Operate carries a request out; changed lists the tasks that it brought back or
// added, at most maxChanged. Nothing has changed if it returns an error.
func (f *Flow) Operate(now time.Time, req Request) (decisions []Decision, changed []string, err error) {
	if err := f.Check(req); err != nil {
		return nil, nil, err
	}
	f.begin()
	f.roll.progress = true
	if req.Kind == Approve || req.Kind == Reject {
		f.decideApproval(req, now)
		return f.advance(now), nil, nil
	}
	events, _, err := f.translate(req)
	if err != nil {
		return nil, nil, err
	}
	before := f.run.Len()
	for _, ev := range events {
		err := f.feed(ev, now)
		if err != nil {
			return f.advance(now), changed, err
		}
		changed = append(changed, f.broughtBack()...)
	}
	if req.Kind == Add {
		f.grown()
		for i := before; i < f.run.Len() && len(changed) < maxChanged; i++ {
			changed = append(changed, f.run.ID(dag.Index(i)))
		}
	}
	return f.advance(now), changed[:min(len(changed), maxChanged)], nil
}

const maxChanged = 200

func (f *Flow) broughtBack() []string {
	var ids []string
	for _, m := range f.run.Transitions() {
		if m.From.Terminal() && m.To == dag.Pending && len(ids) < maxChanged {
			ids = append(ids, f.run.ID(m.Task))
		}
	}
	return ids
}

// translate makes events of a request. blame says of a refusal where in the request
// the reason is.
func (f *Flow) translate(req Request) (events []dag.Event, blame func(error) error, err error) {
	if req.Kind == Add {
		added, err := spec.ParseAdded(f.run, cmp.Or(req.File, "added tasks"), req.Data)
		if err != nil {
			return nil, nil, err
		}
		return []dag.Event{{Kind: dag.EventAddTasks, Growth: added.Growth}}, added.Blame, nil
	}
	events, err = f.eventsOf(req)
	return events, func(err error) error { return err }, err
}

func (f *Flow) eventsOf(req Request) ([]dag.Event, error) {
	switch req.Kind {
	case Retry:
		if len(req.Tasks) == 0 {
			return []dag.Event{{Kind: dag.EventRetry, Task: dag.None}}, nil
		}
		return f.perTask(dag.EventRetry, req.Tasks)
	case Skip:
		return f.perTask(dag.EventSkip, req.Tasks)
	case Rerun:
		return f.perTask(dag.EventRerun, req.Tasks)
	case CancelTask:
		return f.perTask(dag.EventCancelTask, req.Tasks)
	case SetConcurrency:
		if req.Limit < 1 || req.Limit > spec.MaxConcurrency {
			return nil, fmt.Errorf("concurrency %d: use 1 to %d", req.Limit, spec.MaxConcurrency)
		}
		return []dag.Event{{Kind: dag.EventSetConcurrency, Limit: req.Limit}}, nil
	case Release:
		return []dag.Event{{Kind: dag.EventRelease}}, nil
	case Approve, Reject, Add:
	}
	return nil, fmt.Errorf("there is no such request (%d)", req.Kind)
}

func (f *Flow) perTask(kind dag.EventKind, ids []string) ([]dag.Event, error) {
	events := make([]dag.Event, len(ids))
	for k, id := range ids {
		i, err := f.find(id)
		if err != nil {
			return nil, err
		}
		events[k] = dag.Event{Kind: kind, Task: i}
	}
	return events, nil
}

func (f *Flow) find(id string) (dag.Index, error) {
	i, ok := f.run.Lookup(id)
	if !ok {
		return dag.None, fmt.Errorf("there is no task %q in this run%s", id, f.meant(id))
	}
	return i, nil
}

// meant says what a name that is no task's may stand for.
func (f *Flow) meant(id string) string {
	views, total := f.Tasks(Filter{Task: id, Limit: 3})
	switch similar := f.Similar(id); {
	case total > 0:
		var names []string
		for _, v := range views {
			names = append(names, v.ID)
		}
		if total > len(names) {
			names = append(names, "…")
		}
		return fmt.Sprintf(": it fans out to %d; name those: %s", total, strings.Join(names, ", "))
	case similar != "":
		return fmt.Sprintf(": did you mean %q? `roundsman dag show` lists them", similar)
	}
	return "; `roundsman dag show` lists them"
}

// awaiting finds the task of an approval.
func (f *Flow) awaiting(req Request) (*task, error) {
	if len(req.Tasks) != 1 {
		return nil, fmt.Errorf("name the one task to decide about")
	}
	i, err := f.find(req.Tasks[0])
	if err != nil {
		return nil, err
	}
	t := f.live[i]
	if t == nil || t.phase != phaseApproval {
		return nil, fmt.Errorf("task %q does not wait for an approval: it is %s", req.Tasks[0], f.run.State(i))
	}
	return t, nil
}

func (f *Flow) decideApproval(req Request, now time.Time) {
	t, err := f.awaiting(req)
	if err != nil {
		return
	}
	if req.Kind == Approve {
		f.succeed(t, approvalResult(req), now)
		return
	}
	message := "rejected"
	if req.By != "" {
		message += " by " + req.By
	}
	if req.Note != "" {
		message += ": " + req.Note
	}
	f.fail(t, message, now)
}

func approvalResult(req Request) []byte {
	// Strings always encode.
	data, err := json.Marshal(map[string]string{"approved_by": clip(req.By), "note": clip(req.Note)})
	if err != nil {
		return nil
	}
	return data
}

// Pause keeps tasks from starting; what runs goes on, and the deadline too. A
// second one replaces by and note.
func (f *Flow) Pause(now time.Time, by, note string) []Decision {
	f.begin()
	f.roll.progress = true
	paused := f.run.Paused()
	if f.feed(dag.Event{Kind: dag.EventPause}, now) == nil {
		f.pausedBy, f.pauseNote = clip(by), note
		if !paused {
			f.pausedAt = now
		}
	}
	return f.advance(now)
}

// Resume ends a pause.
func (f *Flow) Resume(now time.Time) []Decision {
	f.begin()
	f.roll.progress = true
	_ = f.feed(dag.Event{Kind: dag.EventResume}, now) // As in CancelRun.
	f.unpause()
	return f.advance(now)
}

// unpause follows dag.Run where that has ended a pause.
func (f *Flow) unpause() {
	if !f.run.Paused() && !f.pausedAt.IsZero() {
		f.pausedAt, f.pausedBy, f.pauseNote = time.Time{}, "", ""
		f.unblock()
	}
}

// CancelRun cancels everything but tasks with the rule always; a second time
// those too, also those of sub-DAGs.
func (f *Flow) CancelRun(now time.Time, reason string) []Decision {
	f.begin()
	f.roll.progress = true
	again := f.run.Ending()
	if f.reason == "" {
		f.reason = clip(reason)
	}
	// A run that is over refuses, which is as good.
	_ = f.feed(dag.Event{Kind: dag.EventCancelRun}, now)
	f.unpause()
	if again {
		f.insist()
	}
	return f.advance(now)
}
