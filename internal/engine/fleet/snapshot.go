package fleet

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// Snapshot is a registry as data, for JSON. Restore(config, r.Snapshot(0)) behaves as r does.
type Snapshot struct {
	Seq        int64                   `json:"seq"`
	Floor      int64                   `json:"floor,omitempty"`
	SightSince time.Time               `json:"sight_since,omitzero"`
	SightUntil time.Time               `json:"sight_until,omitzero"`
	Rebuilt    time.Time               `json:"rebuilt,omitzero"`
	AdoptAt    time.Time               `json:"adopt_at,omitzero"`
	Next       *contract.FleetConfig   `json:"next,omitempty"`
	Workers    []storedWorker          `json:"workers,omitempty"`
	Pulses     []contract.WorkerPulse  `json:"pulses,omitempty"`
	Unseen     []unseenWorker          `json:"unseen,omitempty"`
	Departures []departure             `json:"departures,omitempty"`
	Watchers   []watcher               `json:"watchers,omitempty"`
	Planes     []contract.ControlPlane `json:"planes,omitempty"`
	// Descriptors are stored once each.
	Descriptors []jobtype.Descriptor `json:"descriptors,omitempty"`
}

// Descriptors has, for each capability, 1 + the index of its descriptor, or 0 if it has none.
type storedWorker struct {
	worker
	Registration contract.WorkerRegistration `json:"registration"`
	Descriptors  []int                       `json:"descriptors,omitempty"`
}

type unseenWorker struct {
	contract.Incarnation
	Due time.Time `json:"due"`
}

// Snapshot copies the registry, with at most keep transitions per worker, the newest; 0 copies all.
func (r *Registry) Snapshot(keep int) Snapshot {
	s := Snapshot{
		Seq: r.seq, Floor: r.revisions.floor, SightSince: r.sightSince, SightUntil: r.sightUntil, Rebuilt: r.rebuilt,
		Departures: slices.Clone(r.departures.list), Watchers: r.watchers.carried(),
		Planes: slices.Clone(r.planes),
	}
	if !r.adoptAt.IsZero() {
		s.AdoptAt, s.Next = r.adoptAt, new(r.next)
	}
	index := map[*jobtype.Descriptor]int{}
	for _, id := range r.order {
		s.Workers = append(s.Workers, s.store(r.workers[id], index, keep))
	}
	for _, who := range slices.SortedFunc(maps.Keys(r.pulses), compareIncarnations) {
		s.Pulses = append(s.Pulses, *r.pulses[who])
	}
	for _, e := range r.unseen.list {
		s.Unseen = append(s.Unseen, unseenWorker{e.who, e.at})
	}
	return s
}

func (s *Snapshot) store(w *worker, index map[*jobtype.Descriptor]int, keep int) storedWorker {
	stored := storedWorker{worker: *w, Registration: w.registration}
	stored.Trouble = cloneTrouble(w.Trouble)
	stored.Fenced, stored.Transitions = slices.Clone(w.Fenced), slices.Clone(w.Transitions)
	if surplus := len(w.Transitions) - keep; keep > 0 && surplus > 0 {
		stored.Transitions = stored.Transitions[surplus:]
	}
	for _, c := range w.registration.Capabilities {
		if c.Descriptor != nil && index[c.Descriptor] == 0 {
			s.Descriptors = append(s.Descriptors, *c.Descriptor)
			index[c.Descriptor] = len(s.Descriptors)
		}
		stored.Descriptors = append(stored.Descriptors, index[c.Descriptor])
	}
	stored.Registration.Capabilities = withoutDescriptors(w.registration.Capabilities)
	stored.worker.registration = contract.WorkerRegistration{}
	return stored
}

// Restore is the inverse of [Registry.Snapshot].
func Restore(config *contract.FleetConfig, s Snapshot) *Registry {
	r := empty(config)
	r.seq, r.sightSince, r.sightUntil, r.rebuilt = s.Seq, s.SightSince, s.SightUntil, s.Rebuilt
	r.planes = slices.Clone(s.Planes)
	if s.Next != nil {
		r.adoptAt, r.next = s.AdoptAt, *s.Next
	}
	for _, d := range s.Departures {
		r.departures.list = append(r.departures.list, d)
		r.departures.at[d.Incarnation] = d.At
	}
	for _, p := range s.Pulses {
		r.pulses[p.Incarnation] = &p
	}
	for _, stored := range s.Workers {
		r.restoreWorker(stored, s.Descriptors)
	}
	r.revisions.floor = cmp.Or(s.Floor, s.Seq)
	r.revisions.sort()
	for _, u := range s.Unseen {
		r.unseen.set(u.Incarnation, u.Due)
	}
	for _, w := range s.Watchers {
		r.subscribe(&w)
	}
	return r
}

func (r *Registry) restoreWorker(stored storedWorker, descriptors []jobtype.Descriptor) {
	w := stored.worker
	w.Fenced, w.Transitions = slices.Clone(w.Fenced), slices.Clone(w.Transitions)
	w.counted = ""
	w.Trouble = cloneTrouble(w.Trouble)
	in := stored.Registration
	in.Capabilities = slices.Clone(in.Capabilities)
	for i := range in.Capabilities {
		if i < len(stored.Descriptors) && stored.Descriptors[i] > 0 && stored.Descriptors[i] <= len(descriptors) {
			in.Capabilities[i].Descriptor = &descriptors[stored.Descriptors[i]-1]
		}
	}
	w.registration = r.descriptors.share(in)
	r.workers[w.ID] = &w
	r.revisions.restore(&w)
	r.recount(&w)
	r.await(&w)
	r.troubles.await(&w)
}

func cloneTrouble(t *contract.WorkerTrouble) *contract.WorkerTrouble {
	if t == nil {
		return nil
	}
	return new(*t)
}
