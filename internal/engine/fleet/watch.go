package fleet

import (
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/instant"
)

const (
	// sendPause coalesces changes: only the newest view is sent.
	sendPause = 500 * time.Millisecond
	// sendPausePerWorker keeps a rolling restart of 1,000 nodes from filling the watchers' histories: 3.5 s there.
	sendPausePerWorker = 3 * time.Millisecond
	// The workers of a view are much alike, so a large one shrinks at least to a compressedTo-th.
	compressedFrom = 16 << 10
	compressedTo   = 4
)

type watchers struct {
	byID  map[string]*watcher
	order names
	// dirty holds the workers that changed since the last update of the audiences.
	audiences map[filter]*audience
	dirty     names
}

// Digest is that of the view, 0 without one; Watch.Seq is the number of a view that has certainly arrived.
type watcher struct {
	Watch    contract.WatchFleetInput `json:"watch"`
	Digest   uint64                   `json:"digest,omitempty"`
	NextSend time.Time                `json:"next_send,omitzero"`
	// sending: the view with number sent is in transit; 0 if the watcher has requested another one since.
	sending bool
	sent    int64
}

type filter struct{ handler, jobType string }

func (w *watcher) filter() filter { return filter{w.Watch.Handler, w.Watch.JobType} }

// audience sums up the view of all watchers with one filter: a change of a worker costs only its digest.
type audience struct {
	watchers int
	members  map[string]member
	sum      uint64
	size     int
}

type member struct {
	digest uint64
	size   int
}

func newWatchers() watchers {
	return watchers{byID: map[string]*watcher{}, audiences: map[filter]*audience{}}
}

func (s *watchers) stale(id string) {
	if len(s.audiences) > 0 {
		s.dirty.add(id)
	}
}

func (a *audience) put(id string, m member, in bool) {
	old := a.members[id]
	a.sum, a.size = a.sum-old.digest, a.size-old.size
	delete(a.members, id)
	if in {
		a.members[id] = m
		a.sum, a.size = a.sum+m.digest, a.size+m.size
	}
}

func (r *Registry) update(a *audience, f filter, id string) {
	if w := r.workers[id]; w != nil && w.Liveness != contract.WorkerDeleted {
		if view, in := r.workerView(w, f.handler, f.jobType); in {
			digest, size := digestOf(view)
			a.put(id, member{digest, size}, true)
			return
		}
	}
	a.put(id, member{}, false)
}

func (r *Registry) audience(f filter) *audience {
	a := r.watchers.audiences[f]
	if a == nil {
		a = &audience{members: map[string]member{}}
		r.watchers.audiences[f] = a
		for _, id := range r.order {
			r.update(a, f, id)
		}
	}
	r.refresh()
	return a
}

func (r *Registry) refresh() {
	for _, id := range r.watchers.dirty {
		//workflowcheck:ignore each audience is brought up to date on its own
		for f, a := range r.watchers.audiences {
			r.update(a, f, id)
		}
	}
	r.watchers.dirty = nil
}

func (r *Registry) digest(a *audience) uint64 {
	sum := a.sum + 1
	if r.Incomplete() {
		sum = ^sum
	}
	return max(sum, 1)
}

// due returns the filter of a watcher's next view: changes, or a whole view if that lists no more workers.
func (r *Registry) due(w *watcher, a *audience) contract.WatchFleetInput {
	filter := w.Watch
	if changes, known := r.revisions.since(filter.Seq); !known || len(changes) > len(a.members) {
		filter.Seq = 0
	}
	return filter
}

func (r *Registry) bytes(w *watcher, a *audience) int {
	size := a.size
	if changes, known := r.revisions.since(r.due(w, a).Seq); known {
		size = 0
		for _, change := range changes {
			size += max(a.members[change.id].size, len(change.id))
		}
	}
	if size >= compressedFrom {
		return size / compressedTo
	}
	return size
}

func (e Watch) apply(r *Registry, _ time.Time) {
	if e.WorkflowID == "" {
		return
	}
	w := &watcher{Watch: contract.WatchFleetInput(e)}
	before := r.watchers.byID[e.WorkflowID]
	if before != nil {
		w.NextSend, w.sending = before.NextSend, before.sending
		r.unwatch(before)
	}
	r.subscribe(w)
	if e.Seq == r.seq {
		w.Digest = r.digest(r.audience(w.filter()))
	}
}

func (e Unwatch) apply(r *Registry, _ time.Time) {
	if w := r.watchers.byID[e.WorkflowID]; w != nil {
		r.unwatch(w)
	}
}

func (r *Registry) subscribe(w *watcher) {
	r.watchers.byID[w.Watch.WorkflowID] = w
	r.watchers.order.add(w.Watch.WorkflowID)
	r.audience(w.filter()).watchers++
}

func (r *Registry) unwatch(w *watcher) {
	delete(r.watchers.byID, w.Watch.WorkflowID)
	r.watchers.order.remove(w.Watch.WorkflowID)
	a := r.watchers.audiences[w.filter()]
	if a.watchers--; a.watchers == 0 {
		delete(r.watchers.audiences, w.filter())
	}
}

// NextView returns the first watcher with a view due, and the estimated bytes; empty for none.
func (r *Registry) NextView(now time.Time) (workflowID string, bytes int) {
	r.refresh()
	for _, id := range r.watchers.order {
		w := r.watchers.byID[id]
		if a := r.watchers.audiences[w.filter()]; !w.sending && !now.Before(w.NextSend) && r.digest(a) != w.Digest {
			return id, r.bytes(w, a)
		}
	}
	return "", 0
}

// Send returns the changes since a watcher's view. They are in transit until [Delivered].
func (r *Registry) Send(workflowID string, now time.Time) contract.FleetView {
	w := r.watchers.byID[workflowID]
	a := r.audience(w.filter())
	view := r.View(r.due(w, a))
	w.Digest, w.sending, w.sent = r.digest(a), true, view.Seq
	w.NextSend = now.Add(sendPause + time.Duration(len(a.members))*sendPausePerWorker)
	return view
}

// NextSend returns the time of the next view; zero for none.
func (r *Registry) NextSend(now time.Time) time.Time {
	r.refresh()
	var next time.Time
	for _, id := range r.watchers.order {
		w := r.watchers.byID[id]
		if w.sending || r.digest(r.watchers.audiences[w.filter()]) == w.Digest {
			continue
		}
		next = instant.Earlier(next, instant.Later(w.NextSend, now))
	}
	return next
}

func (e Delivered) apply(r *Registry, _ time.Time) {
	w := r.watchers.byID[e.WorkflowID]
	if w == nil {
		return
	}
	w.sending = false
	if w.sent > 0 {
		w.Watch.Seq = w.sent
	}
	if e.Gone {
		r.unwatch(w)
	}
}

// The server drops undelivered signals of a run that ends, so views in transit count as not sent.
func (s *watchers) carried() []watcher {
	var list []watcher
	for _, id := range s.order {
		w := *s.byID[id]
		if w.sending {
			w.Digest = 0
		}
		list = append(list, w)
	}
	return slices.Clip(list)
}
