package gateway

import (
	"context"
	"sync"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/registry"
)

// fleetFor is how long a list of the registry is used. One query serves all pings of
// that time: a thousand workers that ping every five seconds would otherwise be two
// hundred queries a second.
const fleetFor = 5 * time.Second

// fleet is what the registry said last, for all workers of this gateway. It is a
// cache: a gateway that has just started asks for the one worker that it serves.
type fleet struct {
	registry *registry.Registry

	mu     sync.Mutex
	listed map[contract.Incarnation]contract.WorkerSettings
	at     time.Time
	// asking: one caller reads the list again; the others use the last one.
	asking bool
}

func newFleet(r *registry.Registry) *fleet { return &fleet{registry: r} }

// settings returns what the registry knows of a worker. That it does not know one is
// its word of this moment; that it knows one may be a few seconds old. An error means
// that the registry does not answer.
func (f *fleet) settings(ctx context.Context, who contract.Incarnation) (contract.WorkerSettings, error) {
	if f.due() {
		f.read(ctx, who)
	}
	f.mu.Lock()
	known, ok := f.listed[who]
	f.mu.Unlock()
	if ok {
		return known, nil
	}
	return f.ask(ctx, who)
}

// ask gets the registry's word of this moment.
func (f *fleet) ask(ctx context.Context, who contract.Incarnation) (contract.WorkerSettings, error) {
	settings, err := f.registry.Settings(ctx, who)
	if err == nil && settings.Known {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.listed == nil {
			f.listed = map[contract.Incarnation]contract.WorkerSettings{}
		}
		f.listed[who] = settings
	}
	return settings, err
}

// due reports whether the caller is to read the list.
func (f *fleet) due() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asking || time.Since(f.at) < fleetFor {
		return false
	}
	f.asking = true
	return true
}

// read replaces the list. If the registry does not answer, the last one counts: the
// workers beat all the same.
func (f *fleet) read(ctx context.Context, who contract.Incarnation) {
	list, err := f.registry.Workers(ctx, contract.WorkersQueryInput{})
	var config *contract.FleetConfig
	if err == nil {
		var own contract.WorkerSettings
		if own, err = f.registry.Settings(ctx, who); err == nil {
			config = own.Fleet
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asking, f.at = false, time.Now()
	if err != nil {
		return
	}
	f.listed = make(map[contract.Incarnation]contract.WorkerSettings, len(list.Workers))
	for _, w := range list.Workers {
		r := w.Registration
		f.listed[contract.Incarnation{ID: r.ID, Instance: r.Instance}] = contract.WorkerSettings{
			Known: true, Resized: r.Resized, Held: w.Mode != "", Fleet: config,
		}
	}
}

// forget makes the next call ask for this worker.
func (f *fleet) forget(who contract.Incarnation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.listed, who)
}
