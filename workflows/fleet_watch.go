package workflows

import (
	"maps"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/workflows/entity"
)

const (
	// sendPause is the least time between two views to one watcher. Changes in
	// between are coalesced: only the newest view is sent.
	sendPause = 500 * time.Millisecond
	// sendPausePerWorker stretches the pause for large views, so that a rolling
	// restart of 1,000 nodes does not fill the watchers' histories: 3.5 s there.
	sendPausePerWorker = 3 * time.Millisecond
)

// watcher is a workflow that is told of changes.
type watcher struct {
	contract.FleetStateWatcher
	// seq is the core's number when the digest was last compared.
	seq int64
	// sent is the signal on its way; nil if there is none.
	sent workflow.Future
}

// carried is what the next run knows of the watcher. The server forgets a signal
// that was not delivered when the run that sent it ends: such a view counts as
// not sent.
func (w *watcher) carried() contract.FleetStateWatcher {
	carry := w.FleetStateWatcher
	if w.sent != nil && !w.sent.IsReady() {
		carry.Digest = 0
	}
	return carry
}

// watch subscribes a workflow, or renews its subscription.
func (f *fleetRun) watch(in contract.WatchFleetInput) {
	if in.WorkflowID == "" {
		return
	}
	w := &watcher{}
	if in.Seq == f.core.Seq() {
		w.Digest, _ = viewDigest(f.view(in))
	}
	if before := f.watchers[in.WorkflowID]; before != nil {
		w.NextSend, w.sent = before.NextSend, before.sent
	}
	w.Watch = in
	f.watchers[in.WorkflowID] = w
}

// order returns the watchers by id, so that signals go out in the same order on
// every replay.
func (f *fleetRun) order() []string { return slices.Sorted(maps.Keys(f.watchers)) }

// publish sends the newest view to whoever has an older one, as many as one workflow
// task may tell; the next one goes on.
func (f *fleetRun) publish() {
	now := workflow.Now(f.ctx)
	for _, id := range f.order() {
		w := f.watchers[id]
		if w.seq == f.core.Seq() || w.sent != nil || now.Before(w.NextSend) {
			continue
		}
		view := f.view(w.Watch)
		digest, size := viewDigest(view)
		if digest != w.Digest && !f.tasks.Fits(f.ctx, size) {
			return
		}
		w.seq = f.core.Seq()
		if digest == w.Digest {
			continue
		}
		w.Digest = digest
		w.NextSend = now.Add(sendPause + time.Duration(len(view.Workers))*sendPausePerWorker)
		w.sent = workflow.SignalExternalWorkflow(f.ctx, id, "", contract.SignalFleetChanged, view)
	}
}

// nextSend is when the next coalesced view is due; zero: none waits.
func (f *fleetRun) nextSend() time.Time {
	return earliestSend(f.watchers, f.core.Seq(), workflow.Now(f.ctx))
}

// earliestSend is when the first of the watchers that do not know the state of seq can
// be told. One that was never told anything can be now, as all can for which it is time.
func earliestSend(watchers map[string]*watcher, seq int64, now time.Time) time.Time {
	var next time.Time
	//workflowcheck:ignore the earliest of all, none of which is zero, whatever their order
	for _, w := range watchers {
		if w.seq != seq && w.sent == nil {
			next = entity.Earlier(next, latest(w.NextSend, now))
		}
	}
	return next
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (f *fleetRun) watchersAnswered() bool {
	for _, w := range f.watchers {
		if w.sent != nil && w.sent.IsReady() {
			return true
		}
	}
	return false
}

// collectAnswers drops the watchers whose workflow is gone.
func (f *fleetRun) collectAnswers() {
	for _, id := range f.order() {
		w := f.watchers[id]
		if w.sent == nil || !w.sent.IsReady() {
			continue
		}
		if err := w.sent.Get(f.ctx, nil); err != nil {
			workflow.GetLogger(f.ctx).Debug("A watcher is gone.", "workflow", id, "error", err)
			delete(f.watchers, id)
		}
		w.sent = nil
	}
}
