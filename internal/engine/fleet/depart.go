package fleet

import (
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// A worker that is stopped while it registers may unregister first: without a control plane the registration waits at
// the server. So a departure voids later registrations of the incarnation.
const (
	// A pending registration arrives soon after.
	departureCounts = 10 * time.Minute
	maxDepartures   = 1000
)

type departures struct {
	list []departure
	at   map[contract.Incarnation]time.Time
}

type departure struct {
	contract.Incarnation
	At time.Time `json:"at"`
}

func newDepartures() departures { return departures{at: map[contract.Incarnation]time.Time{}} }

func (d *departures) add(who contract.Incarnation, now time.Time) {
	if _, known := d.at[who]; known {
		d.list = slices.DeleteFunc(d.list, func(old departure) bool { return old.Incarnation == who })
	}
	d.list = append(d.list, departure{who, now})
	d.at[who] = now
	for len(d.list) > maxDepartures || now.Sub(d.list[0].At) >= departureCounts {
		delete(d.at, d.list[0].Incarnation)
		d.list = d.list[1:]
	}
}

func (d *departures) has(who contract.Incarnation, now time.Time) bool {
	at, known := d.at[who]
	return known && now.Sub(at) < departureCounts
}

func (e Unregister) apply(r *Registry, now time.Time) {
	who := contract.Incarnation(e)
	r.departures.add(who, now)
	if w := r.workers[e.ID]; r.Known(who) && !w.Left {
		r.leave(w, now, contract.WorkerTransition{Code: contract.WorkerUnregistered})
	}
}

// A worker that was OFFLINE already keeps the start of its deletion time.
func (r *Registry) leave(w *worker, at time.Time, t contract.WorkerTransition) {
	w.Left = true
	if w.Liveness == contract.WorkerOffline {
		r.note(w, at, contract.WorkerOffline, t)
		r.await(w)
		return
	}
	r.move(w, at, contract.WorkerOffline, t)
}
