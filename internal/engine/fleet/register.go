package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

const maxInstanceLength = 64

// Check returns every fault of a registration, and refuses one beyond the bound of workers.
func (r *Registry) Check(in contract.WorkerRegistration) error {
	if r.workers[in.ID] == nil && len(r.order) >= contract.MaxWorkers {
		return fmt.Errorf("the registry holds %d workers, its limit: remove OFFLINE ones with `roundsman workers cleanup --offline`", contract.MaxWorkers)
	}
	var faults []error
	if err := jobtype.ValidateName(in.ID); err != nil {
		faults = append(faults, fmt.Errorf("worker id: %w", err))
	}
	if in.Instance == "" || len(in.Instance) > maxInstanceLength || strings.ContainsAny(in.Instance, "/'\" ") {
		faults = append(faults, fmt.Errorf("instance %q must have 1 to %d characters and none of / ' \" or space: it is part of the queue's name", in.Instance, maxInstanceLength))
	}
	if in.MaxDetect < 0 || in.MaxExecute < 0 {
		faults = append(faults, errors.New("max_detect and max_execute must not be negative"))
	}
	for _, c := range in.Capabilities {
		if err := jobtype.ValidateName(c.Handler); err != nil {
			faults = append(faults, fmt.Errorf("handler: %w", err))
		}
	}
	if data, err := json.Marshal(in); err != nil {
		faults = append(faults, err)
	} else if len(data) > contract.MaxRegistrationBytes {
		faults = append(faults, fmt.Errorf("the registration has %d bytes, at most %d are allowed: shorten labels or descriptors", len(data), contract.MaxRegistrationBytes))
	}
	return errors.Join(faults...)
}

func (e Register) apply(r *Registry, now time.Time) {
	in := contract.WorkerRegistration(e)
	who := contract.Incarnation{ID: in.ID, Instance: in.Instance}
	if r.departures.has(who, now) {
		r.decide(Rejected{Code: contract.WorkerDeparted, ID: in.ID, Process: in.Process()})
		return
	}
	kept, resized := in.Kept, in.Resized
	in.Kept, in.Resized, in.TakeOver, in.Unanswered, in.Answered = nil, nil, false, "", ""
	w := r.workers[in.ID]
	if w != nil {
		// An operator's caps outlive the process.
		in.Resized = w.registration.Resized
	}
	digest, _ := digestOf(in)
	a := admission{registration: in, digest: digest}
	switch {
	case w == nil:
		a.registration.Resized = resized
		r.admit(r.rebuild(who, kept, &a.registration), a, now, contract.WorkerTransition{Code: contract.WorkerRegistered})
	case w.Liveness == contract.WorkerDeleted:
		r.admit(w, a, now, contract.WorkerTransition{Code: contract.WorkerRegistered})
	case w.Instance == in.Instance:
		r.renew(w, a, now)
	case w.Left:
		r.admit(w, a, now, contract.WorkerTransition{Code: contract.WorkerRegistered, Process: in.Process()})
	case r.silentHolder(w, e.Unanswered):
		r.replace(w, a, now, contract.WorkerReplaced)
	case e.TakeOver:
		r.replace(w, a, now, contract.WorkerTakenOver)
	default:
		r.decide(Refused{Holder: r.holder(w, now), Stale: !r.fresh(w)})
	}
}

// silentHolder: a busy machine delays heartbeats, so a stale holder loses its id only if its process did not answer.
// No process answers for a remote worker, nor for a worker that is not ONLINE.
func (r *Registry) silentHolder(w *worker, unanswered string) bool {
	return !r.fresh(w) && (w.registration.Remote || w.Liveness != contract.WorkerOnline || unanswered == w.Instance)
}

type admission struct {
	registration contract.WorkerRegistration
	digest       uint64
}

func (r *Registry) rebuild(who contract.Incarnation, kept *contract.WorkerTransition, in *contract.WorkerRegistration) *worker {
	w := &worker{Incarnation: who}
	if kept != nil && (kept.Mode == contract.ModeDraining || kept.Mode == contract.ModeCordoned) {
		w.Mode, w.Kept = kept.Mode, *kept
		w.Kept.Note = jobtype.Clip(kept.Note, MaxNote)
	}
	if in.Resized != nil && CheckCaps(*in.Resized) != nil {
		in.Resized = nil
	}
	r.workers[who.ID] = w
	return w
}

// renew applies a registration of the incarnation that already holds the id.
func (r *Registry) renew(w *worker, a admission, now time.Time) {
	if w.Liveness != contract.WorkerOnline || !r.fresh(w) {
		r.admit(w, a, now, contract.WorkerTransition{Code: contract.WorkerRegistered})
		return
	}
	if w.Digest != a.digest {
		r.setRegistration(w, a)
		r.note(w, now, w.shown(), contract.WorkerTransition{Code: contract.WorkerChanged})
	}
	r.decide(Accepted{Incarnation: w.Incarnation})
}

// A stale holder is fenced too: it may only be cut off, and an id has one owner.
func (r *Registry) replace(w *worker, a admission, now time.Time, code contract.WorkerEvent) {
	w.Fenced = append(w.Fenced, w.Instance)
	if surplus := len(w.Fenced) - maxFenced; surplus > 0 {
		w.Fenced = slices.Delete(w.Fenced, 0, surplus)
	}
	r.admit(w, a, now, contract.WorkerTransition{Code: code, Process: a.registration.Process(), Former: w.registration.Process()})
}

// The operator's mode stays: a cordoned node that restarts is still cordoned. The registration counts as a beat, so a
// worker gets work before its first heartbeat.
func (r *Registry) admit(w *worker, a admission, now time.Time, t contract.WorkerTransition) {
	from, fenced := contract.WorkerState(""), ""
	if len(w.Transitions) > 0 {
		from = w.shown()
	}
	old := w.Incarnation
	if old.Instance != a.registration.Instance && slices.Contains(w.Fenced, old.Instance) {
		fenced = old.Instance
	}
	cameBack := w.Liveness != contract.WorkerOnline
	if cameBack {
		w.Since = now
	}
	r.silent.drop(old)
	r.unseen.drop(old)
	if old.Instance != a.registration.Instance {
		r.troubles.forget(w)
	}
	w.Instance = a.registration.Instance
	r.setRegistration(w, a)
	w.RegisteredAt, w.Left, w.Liveness = now, false, contract.WorkerOnline
	w.Fenced = slices.DeleteFunc(w.Fenced, func(instance string) bool { return instance == w.Instance })
	p := r.pulse(w.Incarnation)
	p.Fresh, p.LastChange, p.ShuttingDown = true, now, false
	r.unseen.set(w.Incarnation, now.Add(r.config.FreshFor()))
	r.prune(old)
	if noted := r.note(w, now, from, t); cameBack {
		w.Why = noted
	}
	w.Beat = r.seq
	r.decide(Accepted{Incarnation: w.Incarnation, Fenced: fenced})
}

func (r *Registry) setRegistration(w *worker, a admission) {
	shared := r.descriptors.share(a.registration)
	r.descriptors.release(w.registration)
	w.registration, w.Digest = shared, a.digest
}

func (r *Registry) holder(w *worker, now time.Time) contract.RegisteredOther {
	since := max(0, now.Sub(r.pulses[w.Incarnation].LastChange))
	if r.fresh(w) {
		since = min(since, r.config.FreshFor())
	}
	return contract.RegisteredOther{
		Host: w.registration.Host, PID: w.registration.PID, Instance: w.Instance,
		Age:       jobtype.Duration(max(0, now.Sub(w.RegisteredAt))),
		SinceBeat: jobtype.Duration(since),
	}
}
