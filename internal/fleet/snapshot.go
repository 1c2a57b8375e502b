package fleet

import (
	"slices"
	"time"
)

// Snapshot is a registry as data, for JSON. Restore(config, r.Snapshot())
// behaves as r does.
type Snapshot struct {
	Seq        int64     `json:"seq"`
	SightSince time.Time `json:"sight_since,omitzero"`
	SightUntil time.Time `json:"sight_until,omitzero"`
	Workers    []worker  `json:"workers,omitempty"`
	Pulses     []pulse   `json:"pulses,omitempty"`
	Goodbyes   []goodbye `json:"goodbyes,omitempty"`
}

// Snapshot copies the registry; later events do not change the copy. At most
// keep transitions per worker go along, the newest ones; 0 keeps all.
func (r *Registry) Snapshot(keep int) Snapshot {
	s := Snapshot{Seq: r.seq, SightSince: r.sightSince, SightUntil: r.sightUntil, Goodbyes: slices.Clone(r.goodbyes)}
	for _, id := range r.ids() {
		w := *r.workers[id]
		w.Fenced = slices.Clone(w.Fenced)
		w.Transitions = slices.Clone(w.Transitions)
		if surplus := len(w.Transitions) - keep; keep > 0 && surplus > 0 {
			w.Transitions = w.Transitions[surplus:]
		}
		s.Workers = append(s.Workers, w)
	}
	for _, who := range r.identities() {
		s.Pulses = append(s.Pulses, *r.pulses[who])
	}
	return s
}

// Restore is the inverse of [Registry.Snapshot].
func Restore(config Config, s Snapshot) *Registry {
	r := New(config, time.Time{})
	r.seq, r.sightSince, r.sightUntil = s.Seq, s.SightSince, s.SightUntil
	r.goodbyes = slices.Clone(s.Goodbyes)
	for _, w := range s.Workers {
		w.Fenced, w.Transitions = slices.Clone(w.Fenced), slices.Clone(w.Transitions)
		r.workers[w.ID] = &w
	}
	for _, p := range s.Pulses {
		r.pulses[p.Identity] = &p
	}
	return r
}
