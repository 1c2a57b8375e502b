package fleet

import (
	"fmt"
	"slices"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

func (e Register) apply(r *Registry, now time.Time) {
	if r.saidGoodbye(e.Identity, now) {
		r.decide(Rejected{Reason: fmt.Sprintf("process %s has said goodbye: a new process can register", e.describe())})
		return
	}
	w := r.workers[e.ID]
	switch {
	case w == nil:
		w = &worker{Identity: e.Identity}
		if e.Mode == ModeDraining || e.Mode == ModeCordoned {
			w.Mode, w.Kept = e.Mode, e.Kept
		}
		r.workers[e.ID] = w
		r.seat(w, e, now, "registered")
	case w.Liveness == Deleted:
		r.seat(w, e, now, "registered again after it was deleted")
	case w.Instance == e.Instance:
		r.renew(w, e, now)
	case w.Left:
		r.seat(w, e, now, "registered as a new process "+e.describe())
	case !r.fresh(w):
		reason := fmt.Sprintf("process %s replaces %s, whose heartbeat is stale", e.describe(), w.describe())
		r.replace(w, e, now, reason)
	case e.TakeOver:
		reason := fmt.Sprintf("process %s took over from %s, which is fenced", e.describe(), w.describe())
		r.replace(w, e, now, reason)
	default:
		r.decide(Refused{Holder: r.holder(w, now)})
	}
}

// renew is a registration of the incarnation that already holds the id: a
// repeat changes nothing, other capabilities are taken note of, and after a
// silence it is back.
func (r *Registry) renew(w *worker, e Register, now time.Time) {
	if w.Liveness != Online || !r.fresh(w) {
		r.seat(w, e, now, "registered again")
		return
	}
	if w.Digest != e.Digest {
		w.Digest = e.Digest
		r.note(w, now, w.shown(), "registered with other labels, capabilities or slots", "")
	}
	r.decide(Accepted{Identity: w.Identity})
}

// replace fences the holder. A stale one is fenced too: it may only be cut off
// or stopped, and the id has one owner.
func (r *Registry) replace(w *worker, e Register, now time.Time, reason string) {
	w.Fenced = append(w.Fenced, w.Instance)
	if surplus := len(w.Fenced) - maxFenced; surplus > 0 {
		w.Fenced = slices.Delete(w.Fenced, 0, surplus)
	}
	r.seat(w, e, now, reason)
}

// seat gives the id to the registering incarnation. The operator's mode stays:
// a cordoned node that restarts is still cordoned. The registration counts as a
// beat, so that a worker gets work before its first heartbeat.
func (r *Registry) seat(w *worker, e Register, now time.Time, reason string) {
	from, fenced := State(""), ""
	if len(w.Transitions) > 0 {
		from = w.shown()
	}
	if w.Instance != e.Instance && slices.Contains(w.Fenced, w.Instance) {
		fenced = w.Instance
	}
	cameBack := w.Liveness != Online
	if cameBack {
		w.Since = now
	}
	w.Identity, w.Host, w.PID, w.Digest = e.Identity, e.Host, e.PID, e.Digest
	w.RegisteredAt, w.Left, w.Liveness = now, false, Online
	w.Fenced = slices.DeleteFunc(w.Fenced, func(instance string) bool { return instance == e.Instance })
	p := r.pulses[w.Identity]
	if p == nil {
		p = &pulse{Pulse: Pulse{Identity: w.Identity}}
		r.pulses[w.Identity] = p
	}
	p.Fresh, p.LastChange, p.ShuttingDown, p.Watched = true, now, false, false
	r.prunePulses()
	if t := r.note(w, now, from, reason, ""); cameBack {
		w.Why = t
	}
	w.Beat = r.seq
	r.decide(Accepted{Identity: w.Identity, Fenced: fenced})
}

func (e Unregister) apply(r *Registry, now time.Time) {
	r.remember(e.Identity, now)
	w := r.workers[e.ID]
	if w == nil || w.Instance != e.Instance || w.Liveness == Deleted || w.Left {
		return
	}
	r.leave(w, now, "unregistered")
}

// leave makes the worker OFFLINE by its own word. One that was OFFLINE before
// keeps the time from which its deletion is counted.
func (r *Registry) leave(w *worker, at time.Time, reason string) {
	w.Left = true
	if w.Liveness == Offline {
		r.note(w, at, Offline, reason, "")
		return
	}
	r.move(w, at, Offline, reason, "")
}

func (r *Registry) holder(w *worker, now time.Time) Holder {
	since := now.Sub(r.pulses[w.Identity].LastChange)
	return Holder{
		Identity: w.Identity, Host: w.Host, PID: w.PID,
		Age:       max(0, now.Sub(w.RegisteredAt)),
		SinceBeat: min(max(0, since), r.config.FreshFor()),
	}
}

func (e Register) describe() string { return fmt.Sprintf("%d on %s", e.PID, e.Host) }
func (w *worker) describe() string  { return fmt.Sprintf("%d on %s", w.PID, w.Host) }

// span writes a duration for people: whole seconds from one second on, else whole
// milliseconds.
func span(d time.Duration) string {
	unit := time.Millisecond
	if d >= time.Second {
		unit = time.Second
	}
	d = d.Truncate(unit)
	return jobtype.Duration(d).String()
}
