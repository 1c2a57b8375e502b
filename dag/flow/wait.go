package flow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/placement"
)

// WaitCode says what kind of thing is waited for. They are the wire's.
type WaitCode string

// The codes of what a task, or a run, waits for.
const (
	WaitPaused      WaitCode = "PAUSED"
	WaitHeld        WaitCode = "HELD"
	WaitUpstream    WaitCode = "UPSTREAM"
	WaitApproval    WaitCode = "AWAITING_APPROVAL"
	WaitConcurrency WaitCode = "CONCURRENCY_LIMIT"
	WaitResources   WaitCode = "RESOURCES_PENDING"
	WaitNoWorker    WaitCode = "NO_WORKER"
	WaitUnreachable WaitCode = "WORKER_UNREACHABLE"
	WaitCordoned    WaitCode = "WORKER_CORDONED"
	WaitSlots       WaitCode = "ALL_SLOTS_FULL"
	WaitBackoff     WaitCode = "RETRY_BACKOFF_UNTIL"
	WaitSleeping    WaitCode = "SLEEPING"
	WaitOutcome     WaitCode = "OUTCOME_PENDING"
	// WaitStarting: nothing is in its way, it takes a moment.
	WaitStarting WaitCode = "STARTING"
)

// Wait is one thing that a task, or the run, waits for.
type Wait struct {
	Code WaitCode
	// Object is the thing: tasks, a worker, a handler; empty for the run itself.
	Object string
	// Task waits, or is the first of Tasks that wait for the same; dag.None in
	// what is said of the run as a whole.
	Task  dag.Index
	Tasks int
	// Ask is the number of the [Ask] that has no answer yet.
	Ask int
	// Since is when it began, as far as the run knows; Until when it ends by
	// itself, one way or the other.
	Since, Until time.Time
	// Detail is a sentence for people.
	Detail string
}

// maxNamed bounds how many tasks or workers one wait names.
const maxNamed = 10

// Waits says why a task does not run, what stops everything first. It is empty
// exactly for a task that runs or has ended, but for one that is upstream_failed:
// that one names what it needed. It costs the task's dependencies, never all tasks.
func (f *Flow) Waits(i dag.Index) []Wait {
	var list []Wait
	t := f.live[i]
	switch state := f.run.State(i); {
	case !f.run.Started():
		return []Wait{{Code: WaitStarting, Task: i, Since: f.startedAt, Detail: "the run has not begun"}}
	case state == dag.Pending || state == dag.UpstreamFailed:
		list = append(list, f.upstream(i))
	case state == dag.Ready && !f.run.Paused():
		list = append(list, f.crowded(i))
	case state == dag.Running:
		list = f.waitsOfLive(i, t)
	}
	if f.run.Paused() && f.stoppedByPause(i, t) {
		list = slices.Insert(list, 0, f.pausedWait(i))
	}
	return list
}

// stoppedByPause reports whether the task would not go on even if nothing else
// were in its way. What was started before the pause sleeps and is approved all
// the same.
func (f *Flow) stoppedByPause(i dag.Index, t *task) bool {
	switch f.run.State(i) {
	case dag.Pending, dag.Ready:
		return true
	case dag.Running:
		return t != nil && (t.phase == phaseWaiting || t.phase == phaseGranted || t.phase == phaseYielded)
	case dag.Succeeded, dag.Failed, dag.UpstreamFailed, dag.Skipped, dag.Canceled:
	}
	return false
}

func (f *Flow) pausedWait(i dag.Index) Wait {
	detail := "the run is paused"
	if f.pausedBy != "" {
		detail += " by " + f.pausedBy
	}
	if f.pauseNote != "" {
		detail += ": " + f.pauseNote
	}
	return Wait{Code: WaitPaused, Task: i, Since: f.pausedAt, Detail: detail}
}

// upstream names the dependencies that a pending task waits for, or those that
// made it upstream_failed.
func (f *Flow) upstream(i dag.Index) Wait {
	failed := f.run.State(i) == dag.UpstreamFailed
	var stuck, rest []dag.Index // What waits itself is more worth knowing than what runs.
	needs := f.run.Needs(i)
	open := 0
	for _, n := range needs {
		if !f.blames(n, failed) {
			continue
		}
		open++
		if t := f.live[n]; t != nil && t.phase != phaseRunning && len(stuck) < maxNamed {
			stuck = append(stuck, n)
		} else if len(rest) < maxNamed {
			rest = append(rest, n)
		}
	}
	var names, states []string
	for _, n := range append(stuck, rest...)[:min(open, maxNamed)] {
		names = append(names, f.run.ID(n))
		states = append(states, f.run.ID(n)+" "+f.doing(n))
	}
	w := Wait{Code: WaitUpstream, Task: i, Object: strings.Join(names, ", "), Since: f.startedAt}
	w.Detail = fmt.Sprintf("it waits for %d of %d tasks (trigger_rule %s): ", open, len(needs), f.run.Rule(i))
	if failed {
		w.Detail = fmt.Sprintf("it was not run, because of %d of the %d tasks before it: ", open, len(needs))
	}
	w.Detail += strings.Join(states, ", ")
	if more := open - len(names); more > 0 {
		w.Detail += fmt.Sprintf(" and %d more", more)
	}
	return w
}

// blames reports whether a dependency is why a task waits, or why it has failed.
func (f *Flow) blames(n dag.Index, failed bool) bool {
	state := f.run.State(n)
	if failed {
		return state == dag.Failed || state == dag.UpstreamFailed || state == dag.Canceled
	}
	return !state.Terminal()
}

// doing says in a word or two what a task does.
func (f *Flow) doing(i dag.Index) string {
	state := f.run.State(i)
	if t := f.live[i]; state == dag.Running && t != nil && t.phase != phaseRunning {
		if waits := f.waitsOfLive(i, t); len(waits) > 0 {
			return "waits: " + string(waits[0].Code)
		}
	}
	return "is " + state.String()
}

// crowded is what a ready task waits for in a run that is not paused. One that
// needs resources takes no place before it has them, but waits until few enough
// others have asked ahead of it.
func (f *Flow) crowded(i dag.Index) Wait {
	w := Wait{Code: WaitConcurrency, Task: i, Since: f.fullSince, Detail: f.full()}
	if i != dag.None && f.run.Gated(i) {
		w.Since = f.gateSince
		w.Detail = fmt.Sprintf("%d tasks wait for their resources ahead of it: at most as many as the run's concurrency ask at once", f.run.AtGate())
	}
	return w
}

func (f *Flow) full() string {
	return fmt.Sprintf("the run's concurrency of %d is used up", f.run.Options().Concurrency)
}

// placeless says why a task that may have its resources has no place; "" if it
// has one.
func (f *Flow) placeless(t *task) string {
	switch {
	case t.phase == phaseYielded:
		return f.full() + " by sub-DAGs, whose tasks may need its resources: it asks for them again when one has ended"
	case t.phase == phaseGranted && f.run.Admitted(t.i):
		return f.full() + "; it has its resources and gets the next place before others of its priority"
	}
	return ""
}

// noteFull remembers since when the run's concurrency has been used up, and since
// when as many tasks as that ask for resources.
func (f *Flow) noteFull(now time.Time) {
	note := func(since *time.Time, n int) {
		limit := f.run.Options().Concurrency
		switch full := limit > 0 && n >= limit; {
		case !full:
			*since = time.Time{}
		case since.IsZero():
			*since = now
		}
	}
	note(&f.fullSince, f.run.InFlight())
	note(&f.gateSince, f.run.AtGate())
}

// waitsOfLive is about a task that dag.Run has started.
func (f *Flow) waitsOfLive(i dag.Index, t *task) []Wait {
	if t == nil {
		return []Wait{{Code: WaitStarting, Task: i, Detail: "it is about to start; the run continues as new first"}}
	}
	w := Wait{Task: i, Since: t.startedAt, Until: t.until}
	switch t.phase {
	case phaseRunning:
		return nil
	case phaseWaiting:
		return []Wait{f.waitForWorker(t)}
	case phaseBackoff:
		w.Code, w.Since = WaitBackoff, t.queuedAt
		w.Detail = fmt.Sprintf("attempt %d failed: %s", t.attempt, t.note)
	case phaseRecalling:
		w.Code, w.Object, w.Since = WaitOutcome, t.worker, t.queuedAt
		w.Detail = "worker " + t.worker + " was lost; its outcome may still arrive"
	case phaseSleeping:
		w.Code, w.Detail = WaitSleeping, "it sleeps "+t.definition.Sleep.String()
	case phaseApproval:
		w.Code, w.Object = WaitApproval, f.run.ID(i)
		w.Detail = cmp.Or(t.rendered.Prompt, "it waits for a person")
	case phaseLookup:
		w.Code, w.Object, w.Detail = WaitStarting, t.definition.JobType, "job type "+t.definition.JobType+" is being looked up"
	case phaseResources:
		w.Code, w.Ask, w.Detail = WaitResources, t.ask.Number, "its resources: "+t.ask.spell()
	case phaseYielded, phaseGranted, phaseNone:
		detail := f.placeless(t)
		switch {
		case detail != "" && f.run.Paused():
			return nil // That stops it; whether there is a place then is not known.
		case detail != "":
			w.Code, w.Since, w.Detail = WaitConcurrency, t.queuedAt, detail
			return []Wait{w}
		}
		w.Code, w.Detail = WaitStarting, "it is about to start"
	}
	return []Wait{w}
}

// waitForWorker tells apart why no worker takes the task: there is none, the one
// it is pinned to is away, or none has a slot.
func (f *Flow) waitForWorker(t *task) Wait {
	c := t.class
	w := Wait{Task: t.i, Object: placement.Spell(c.handler, c.labels), Since: t.queuedAt}
	if !c.nobodySince.IsZero() {
		if c.nobodySince.After(w.Since) {
			w.Since = c.nobodySince
		}
		w.Code, w.Until = WaitNoWorker, w.Since.Add(f.timeout(t))
		w.Detail = fmt.Sprintf("%s; it fails after %s of that", c.missing(), f.timeout(t))
		if ids, why := f.fleet.Doubted(c.node, c.labels); ids != "" {
			w.Code, w.Object, w.Detail = WaitUnreachable, ids, why
		} else if pinned := f.fleet.Find(c.node); c.node != "" && pinned != nil {
			w.Code, w.Object = WaitUnreachable, c.node
			w.Detail += ": it is " + pinned.State
			if pinned.Kept() {
				w.Code = WaitCordoned
			}
		} else if c.node != "" {
			w.Object = c.node
			w.Detail += "; no such worker is registered"
		}
		return w
	}
	var able []string
	busy := "all fitting workers are busy"
	for _, m := range f.fleet.Members() {
		if m.Alive() && c.slots(m.Offer) > 0 && m.Fits(c.node, c.labels) && len(able) <= maxNamed {
			able = append(able, m.ID)
			if crowd := m.Crowd(); crowd != "" {
				busy += "; " + crowd
			}
		}
	}
	if len(able) == 0 || f.roll.hold {
		w.Code, w.Object, w.Detail = WaitStarting, "", "it is about to be placed"
		return w
	}
	if len(able) > maxNamed {
		able = append(able[:maxNamed], "…")
	}
	w.Code, w.Object, w.Detail = WaitSlots, strings.Join(able, ", "), busy
	return w
}
