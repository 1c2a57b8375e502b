package fleet_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/fleet"
	"github.com/roundsman/roundsman/internal/engine/run/fleetview"
	"github.com/roundsman/roundsman/jobtype"
)

// A shorter interval applies after the workers had time to read it with their next request. A
// longer one applies at once.
func TestAShorterIntervalCountsLater(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	shorter := fleet.Configure{HeartbeatInterval: jobtype.Duration(time.Second)}
	assert.Equal(t, []fleet.Decision{fleet.Observe{}}, b.next(shorter), "without workers it counts at once")
	assert.Equal(t, []fleet.Decision{fleet.Observe{}}, b.next(fleet.Configure{}))
	b.register("a", "1")
	b.next(fleet.Watching{})

	assert.Empty(t, b.next(shorter))
	assert.Equal(t, time.Second, b.r.Settings(who("a", "1")).Fleet.HeartbeatInterval.Std(), "the worker's")
	assert.Equal(t, 5*time.Second, b.r.Observation().Config.HeartbeatInterval.Std(), "the observer's")
	adopt := t0.Add(contract.RebuildTime)
	assert.Equal(t, adopt, b.r.NextDeadline())
	b.r = fleet.Restore(new(b.r.Thresholds()), b.r.Snapshot(0))
	assert.Equal(t, adopt, b.r.NextDeadline(), "over continue-as-new")
	assert.Empty(t, b.next(shorter), "a repeat does not begin again")
	assert.Equal(t, []fleet.Decision{fleet.Observe{}}, b.at(contract.RebuildTime).next(fleet.Tick{}))
	assert.Equal(t, time.Second, b.r.Observation().Config.HeartbeatInterval.Std())
	assert.Equal(t, []fleet.Decision{fleet.Observe{}}, b.next(fleet.Configure{}))
	assert.Equal(t, 5*time.Second, b.r.Observation().Config.HeartbeatInterval.Std())
}

// Later thresholds improve the state of a worker whose silence is shorter than they allow.
func TestLaterThresholdsCountFromTheNextObservation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register("a", "1")
	b.at(15 * time.Second).observe(silent("a", "1", 0))
	b.at(6 * time.Minute).observe()
	require.Equal(t, contract.WorkerOffline, b.state("a"))
	b.next(fleet.Configure{UnreachableAfter: jobtype.Duration(5 * time.Minute)})
	assert.Equal(t, contract.WorkerOffline, b.state("a"))
	b.at(6*time.Minute + time.Second).observe()
	assert.Equal(t, contract.WorkerUnreachable, b.state("a"))
	b.next(fleet.Configure{UnreachableAfter: jobtype.Duration(time.Hour)})
	b.at(6*time.Minute + 2*time.Second).observe()
	assert.Equal(t, contract.WorkerOnline, b.state("a"))
}

// reader is a watcher that assembles the views that it receives.
type reader struct {
	views   fleetview.Views
	workers map[string]contract.WorkerView
	// incomplete: see [contract.FleetView]; partial counts the partial views.
	incomplete bool
	partial    int
	// at is the time of the last view. behind marks a lost view, and asked a subscription after the loss.
	at            time.Time
	behind, asked bool
}

// read applies a view and reports whether the watcher must request a whole one.
func (w *reader) read(view contract.FleetView) (lost bool) {
	changed, ok, lost := w.views.Take(view)
	if !ok {
		return lost
	}
	if !changed.Partial {
		w.workers = map[string]contract.WorkerView{}
	} else {
		w.partial++
	}
	for _, worker := range changed.Workers {
		w.workers[worker.ID] = worker
	}
	for _, id := range changed.Gone {
		delete(w.workers, id)
	}
	w.incomplete, w.behind = changed.Incomplete, false
	return false
}

func (w *reader) list() []contract.WorkerView {
	list := []contract.WorkerView{}
	for _, id := range slices.Sorted(maps.Keys(w.workers)) {
		list = append(list, w.workers[id])
	}
	return list
}

// When nothing is due, an assembled view equals the registry's, even if views get lost and the
// registry continues as new. No view is sent twice, or more often than the pause allows.
func TestWatchersHaveTheNewestView(t *testing.T) {
	t.Parallel()
	config := thresholds(90 * time.Second)
	partial := 0
	rapid.Check(t, func(t *rapid.T) {
		r, now := fleet.New(&config, t0), t0
		filters := map[string]contract.WatchFleetInput{
			"all": {WorkflowID: "all"}, "scrub": {WorkflowID: "scrub", Handler: "scrub"}, "typed": {WorkflowID: "typed", JobType: "gzip"},
		}
		readers := map[string]*reader{}
		for _, name := range []string{"all", "scrub", "typed"} {
			r.Next(now, fleet.Watch(filters[name]))
			readers[name] = &reader{}
		}
		for i, event := range script(t) {
			now = now.Add(time.Duration(i) * 300 * time.Millisecond)
			event(r, now)
			r.Next(now, fleet.Tick{})
			if rapid.IntRange(0, 9).Draw(t, "roll over") == 0 {
				r = reload(t, r)
			}
			for id, _ := r.NextView(now); id != ""; id, _ = r.NextView(now) {
				view, w := r.Send(id, now), readers[id]
				require.False(t, !w.at.IsZero() && now.Sub(w.at) < 500*time.Millisecond, "not that often")
				w.at = now
				r.Next(now, fleet.Delivered{WorkflowID: id})
				if rapid.IntRange(0, 19).Draw(t, "lost") == 0 {
					w.behind = true
					continue
				}
				had, knew, asked := w.list(), w.incomplete, w.asked || w.behind || w.views.Seen == 0
				w.asked = w.read(view) || rapid.IntRange(0, 19).Draw(t, "watches again") == 0
				require.True(t, asked || w.asked || knew != w.incomplete || !assert.ObjectsAreEqual(had, w.list()), "nothing new")
				if w.asked {
					filter := filters[id]
					filter.Seq = w.views.Seen
					r.Next(now, fleet.Watch(filter))
				}
			}
			if r.NextSend(now).IsZero() {
				for id, filter := range filters {
					if readers[id].behind {
						continue // The next change shows it.
					}
					require.Equal(t, r.View(filter).Workers, readers[id].list(), id)
					require.Equal(t, r.Incomplete(), readers[id].incomplete, id)
				}
			}
		}
		for _, w := range readers {
			partial += w.partial
		}
	})
	assert.Positive(t, partial, "no watcher was sent only what had changed")
}

// A watcher that is gone is dropped; one that subscribes again keeps its pause.
func TestWatchersComeAndGo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.next(fleet.Watch{WorkflowID: "x"})
	id, _ := b.r.NextView(b.now)
	require.Equal(t, "x", id)
	b.r.Send("x", b.now)
	b.next(fleet.Watch{WorkflowID: "x"})
	assert.True(t, b.r.NextSend(b.now).IsZero(), "one is on its way")
	b.next(fleet.Delivered{WorkflowID: "x"})
	assert.Equal(t, b.now.Add(500*time.Millisecond), b.r.NextSend(b.now), "it has asked again")
	b.at(time.Second).next(fleet.Watch{WorkflowID: "x", Seq: b.r.Seq()})
	assert.True(t, b.r.NextSend(b.now).IsZero(), "it has the newest")
	b.register("a", "1")
	b.r.Send("x", b.now)
	b.next(fleet.Delivered{WorkflowID: "x", Gone: true})
	b.register("b", "1")
	assert.True(t, b.r.NextSend(b.now.Add(time.Hour)).IsZero())
	b.next(fleet.Unwatch{WorkflowID: "x"})
}
