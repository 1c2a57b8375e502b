package fleet

import (
	"slices"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// Away returns the first workers that are neither ONLINE nor DELETED, and the number of all.
func (r *Registry) Away(most int) (first []contract.WorkerDetail, all int) {
	for _, id := range r.away[:min(most, len(r.away))] {
		first = append(first, r.detail(r.workers[id], false))
	}
	return first, len(r.away)
}

// Workers returns the matching workers by id; the deleted ones come last.
func (r *Registry) Workers(filter contract.WorkersQueryInput) contract.WorkersQueryResult {
	result := contract.WorkersQueryResult{Workers: []contract.WorkerDetail{}, Incomplete: r.Incomplete()}
	list := r.live()
	if filter.Deleted {
		list = append(list, r.filter(func(w *worker) bool { return w.Liveness == contract.WorkerDeleted })...)
	}
	for _, w := range list {
		if (filter.ID != "" && w.ID != filter.ID) || (filter.Online && w.shown() != contract.WorkerOnline) {
			continue
		}
		result.Workers = append(result.Workers, r.detail(w, filter.ID != ""))
	}
	return result
}

// Worker returns one worker with its transitions, also a deleted one.
func (r *Registry) Worker(id string) (contract.WorkerDetail, bool) {
	w := r.workers[id]
	if w == nil {
		return contract.WorkerDetail{}, false
	}
	return r.detail(w, true), true
}

// Incomplete reports whether living workers may not have registered yet.
func (r *Registry) Incomplete() bool { return !r.rebuilt.IsZero() }

// Settings returns the settings of one incarnation.
func (r *Registry) Settings(who contract.Incarnation) contract.WorkerSettings {
	if !r.Known(who) {
		return contract.WorkerSettings{}
	}
	w := r.workers[who.ID]
	settings := contract.WorkerSettings{Known: true, Resized: w.registration.Resized, Held: w.Mode != "", Left: w.Left}
	if settings.Held {
		settings.Kept = new(w.Kept)
	}
	if r.configured {
		settings.Fleet = new(r.Config())
	}
	return settings
}

// Standing returns the settings of several incarnations.
func (r *Registry) Standing(of []contract.Incarnation) contract.StandingResult {
	result := contract.StandingResult{Settings: make([]contract.WorkerSettings, len(of))}
	for i, who := range of {
		result.Settings[i] = r.Settings(who)
	}
	return result
}

// full adds descriptors and transitions, which are too large for a list.
func (r *roster) detail(w *worker, full bool) contract.WorkerDetail {
	d := contract.WorkerDetail{
		Registration: w.registration, State: w.shown(), Mode: w.Mode, RegisteredAt: w.RegisteredAt,
		Since: w.Since, Cause: w.Why, Kept: w.Kept, Trouble: cloneTrouble(w.Trouble),
	}
	if full {
		d.Transitions = slices.Clone(w.Transitions)
	} else {
		d.Registration.Capabilities = withoutDescriptors(d.Registration.Capabilities)
	}
	if d.State == contract.WorkerDraining || d.State == contract.WorkerCordoned {
		d.Cause = w.Kept
	}
	if p := r.pulses[w.Incarnation]; p != nil && w.Liveness != contract.WorkerDeleted {
		d.Fresh, d.LastBeat, d.Skew = p.Fresh && !w.Left, p.LastChange, jobtype.Duration(p.Skew())
		d.Leaving = p.Fresh && w.Left
	}
	return d
}

// View returns the workers that a watcher with this filter can use, or the changes since its view if these are complete.
func (r *Registry) View(filter contract.WatchFleetInput) contract.FleetView {
	view := contract.FleetView{Seq: r.seq, Workers: []contract.WorkerView{}, Incomplete: r.Incomplete()}
	if changes, known := r.revisions.since(filter.Seq); known {
		view.Since = filter.Seq
		for _, change := range changes {
			w := r.workers[change.id]
			if v, ok := r.workerView(w, filter.Handler, filter.JobType); ok && w.Liveness != contract.WorkerDeleted {
				view.Workers = append(view.Workers, v)
			} else {
				view.Gone = append(view.Gone, w.ID)
			}
		}
		return view
	}
	for _, w := range r.live() {
		if v, ok := r.workerView(w, filter.Handler, filter.JobType); ok {
			view.Workers = append(view.Workers, v)
		}
	}
	return view
}

func (r *roster) workerView(w *worker, handler, jobType string) (contract.WorkerView, bool) {
	in, caps := w.registration, w.registration.Caps()
	v := contract.WorkerView{
		ID: w.ID, Instance: w.Instance, State: w.shown(), Beat: w.Beat, Fenced: append([]string(nil), w.Fenced...),
		Labels: in.Labels, JobTypes: in.JobTypes, MaxDetect: caps.MaxDetect, MaxExecute: caps.MaxExecute,
	}
	if p := r.pulses[w.Incarnation]; p != nil {
		v.Fresh, v.Leaving = p.Fresh && !w.Left, p.Fresh && w.Left
	}
	if w.Trouble != nil && w.Trouble.Code == contract.CodeCannotStart {
		v.Trouble = w.Trouble.Code
	}
	for _, c := range in.Capabilities {
		if handler == "" || c.Handler == handler {
			c.Descriptor = nil
			v.Capabilities = append(v.Capabilities, c)
		}
	}
	for _, shared := range in.Shared {
		if jobType == "" || shared == jobType {
			v.Shared = append(v.Shared, shared)
		}
	}
	capable := handler == "" || len(v.Capabilities) > 0
	allowed := jobType == "" || len(in.JobTypes) == 0 || slices.Contains(in.JobTypes, jobType)
	return v, capable && allowed
}
