package fleet_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/fleet"
)

// reference is the naive cascade, for one incarnation per worker: it evaluates all reports from
// the start for every query.
type reference struct {
	registered, last, left, offline time.Time
	fresh, gone                     bool
	mode                            string
}

func (m *reference) look(c contract.FleetConfig, at time.Time) {
	if m.gone || m.registered.IsZero() {
		return
	}
	age := at.Sub(m.last)
	isOffline := !m.left.IsZero() || (!m.fresh && age >= c.OfflineAfter.Std())
	switch {
	case !isOffline:
		m.offline = time.Time{}
	case m.offline.IsZero():
		m.offline = at
	}
	from := m.last
	if !m.left.IsZero() {
		from = m.offline
	}
	if !m.offline.IsZero() && at.Sub(from) >= c.DeleteAfter.Std() {
		m.gone = true
	}
}

func (m *reference) state(c contract.FleetConfig, looked time.Time) contract.WorkerState {
	age := looked.Sub(m.last)
	switch {
	case m.gone:
		return contract.WorkerDeleted
	case !m.offline.IsZero():
		return contract.WorkerOffline
	case !m.fresh && age >= c.UnreachableAfter.Std():
		return contract.WorkerUnreachable
	case m.mode == contract.ModeDraining:
		return contract.WorkerDraining
	case m.mode == contract.ModeCordoned:
		return contract.WorkerCordoned
	default:
		return contract.WorkerOnline
	}
}

func TestAgainstReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		config := thresholds(90 * time.Second)
		r, now, looked := fleet.New(&config, t0), t0, t0
		model := map[string]*reference{"a": {}, "b": {}, "c": {}}
		said := map[string]time.Time{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.OneOf(rapid.IntRange(0, 40_000), rapid.Just(599_000)).Draw(t, "ms")) * time.Millisecond)
			id := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "id")
			m := model[id]
			switch rapid.IntRange(0, 5).Draw(t, "event") {
			case 0:
				r.Next(now, registration(who(id, "1"), "h", 1))
				// The states are those at the last look. A registration counts as one.
				if now.Sub(said[id]) < 10*time.Minute {
					break
				}
				if m.registered.IsZero() || m.gone || !m.left.IsZero() || !m.fresh || m.state(config, looked) == contract.WorkerUnreachable {
					mode := m.mode
					*m = reference{registered: now, last: now, fresh: true, mode: mode}
				}
			case 1:
				r.Next(now, fleet.Unregister(who(id, "1")))
				said[id] = now
				if !m.registered.IsZero() && !m.gone && m.left.IsZero() {
					m.left = now
					if m.offline.IsZero() {
						m.offline = now
					}
				}
			case 2, 3, 4:
				last := now.Add(-time.Duration(rapid.IntRange(0, 60_000).Draw(t, "age")) * time.Millisecond)
				if last.Before(m.registered) {
					last = m.registered
				}
				fresh := now.Sub(last) < config.FreshFor()
				r.Next(now, fleet.Observed{SightUntil: now, SightSince: t0, Changes: []contract.WorkerPulse{{Incarnation: who(id, "1"), LastChange: last, Fresh: fresh, Seen: true}}})
				if !m.registered.IsZero() && !m.gone {
					m.last, m.fresh = last, fresh
				}
				looked = now
				for _, each := range model {
					each.look(config, now)
				}
			case 5:
				action := rapid.SampledFrom([]string{contract.DrainWorker, contract.CordonWorker, contract.UncordonWorker}).Draw(t, "action")
				r.Next(now, fleet.Operate{ID: id, Action: action})
				if !m.registered.IsZero() && (!m.gone || action == contract.UncordonWorker) {
					m.mode = map[string]string{contract.DrainWorker: contract.ModeDraining, contract.CordonWorker: contract.ModeCordoned, contract.UncordonWorker: ""}[action]
				}
			}
			for id, m := range model {
				got, ok := r.Worker(id)
				require.Equal(t, !m.registered.IsZero(), ok)
				if ok {
					require.Equal(t, m.state(config, looked), got.State, "worker %s at %s", id, now.Sub(t0))
				}
			}
		}
	})
}

func script(t *rapid.T) []func(r *fleet.Registry, now time.Time) []fleet.Decision {
	id := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	instance := rapid.SampledFrom([]string{"1", "2", "3"})
	var events []func(r *fleet.Registry, now time.Time) []fleet.Decision
	for range rapid.IntRange(1, 40).Draw(t, "events") {
		who := who(id.Draw(t, "id"), instance.Draw(t, "instance"))
		age := time.Duration(rapid.IntRange(0, 90_000).Draw(t, "age")) * time.Millisecond
		fresh, flag := rapid.Bool().Draw(t, "fresh"), rapid.Bool().Draw(t, "flag")
		action := rapid.SampledFrom([]string{contract.DrainWorker, contract.CordonWorker, contract.UncordonWorker, contract.RemoveWorker, "bad"}).Draw(t, "action")
		kind := rapid.IntRange(0, 7).Draw(t, "kind")
		events = append(events, func(r *fleet.Registry, now time.Time) []fleet.Decision {
			var e fleet.Event
			switch kind {
			case 0:
				in := registration(who, "h", 1)
				in.TakeOver, in.Unanswered = flag, map[bool]string{true: "1", false: "2"}[fresh]
				e = in
			case 1:
				e = fleet.Unregister(who)
			case 2:
				e = fleet.Operate{ID: who.ID, Action: action}
			case 3:
				e = fleet.Cleanup{AllOffline: flag}
			case 4:
				e = fleet.Tick{}
			case 5:
				e = fleet.Watching{}
			default:
				e = fleet.Observed{SightUntil: now, SightSince: t0, Changes: []contract.WorkerPulse{
					{Incarnation: who, LastChange: now.Add(-age), Fresh: fresh, Seen: true, ShuttingDown: flag && !fresh},
				}}
			}
			return r.Next(now, e)
		})
	}
	return events
}

// A registry that is stored and restored between any two events behaves exactly like one that
// never was.
func TestRestoreOfSnapshotBehavesTheSame(t *testing.T) {
	t.Parallel()
	config := thresholds(90 * time.Second)
	rapid.Check(t, func(t *rapid.T) {
		plain, stored := fleet.New(&config, t0), fleet.New(&config, t0)
		now := t0
		for i, event := range script(t) {
			now = now.Add(time.Duration(i) * 700 * time.Millisecond)
			require.Equal(t, event(plain, now), event(stored, now))
			stored = reload(t, stored)
			require.Equal(t, view(plain), view(stored))
			require.Equal(t, deleted(plain), deleted(stored))
			require.Equal(t, plain.Observation(), stored.Observation())
			require.Equal(t, plain.NextDeadline(), stored.NextDeadline())
			require.Equal(t, plain.Seq(), stored.Seq())
		}
	})
}

func reload(t require.TestingT, r *fleet.Registry) *fleet.Registry {
	data, err := json.Marshal(r.Snapshot(0))
	require.NoError(t, err)
	var s fleet.Snapshot
	require.NoError(t, json.Unmarshal(data, &s))
	return fleet.Restore(new(r.Thresholds()), s)
}

// Under any events, an id has one holder, views are in order, and the sequence number never
// falls and grows with every transition.
func TestInvariants(t *testing.T) {
	t.Parallel()
	config := thresholds(90 * time.Second)
	rapid.Check(t, func(t *rapid.T) {
		r, now := fleet.New(&config, t0), t0
		for i, event := range script(t) {
			now = now.Add(time.Duration(i) * 700 * time.Millisecond)
			before := r.Seq()
			decisions := event(r, now)
			for _, d := range decisions {
				if _, ok := d.(fleet.Transitioned); ok {
					require.Greater(t, r.Seq(), before)
				}
			}
			require.GreaterOrEqual(t, r.Seq(), before)
			view := view(r)
			require.True(t, slices.IsSortedFunc(view, func(a, b contract.WorkerDetail) int { return compare(a.Registration.ID, b.Registration.ID) }))
			for _, w := range view {
				require.True(t, r.Known(incarnation(w)))
				require.NotContains(t, fenced(r, w.Registration.ID), w.Registration.Instance)
				require.NotEmpty(t, w.Transitions)
				require.Equal(t, w.State, w.Transitions[len(w.Transitions)-1].To)
				require.False(t, w.Fresh && w.Leaving)
			}
		}
	})
}

func compare(a, b string) int {
	if a < b {
		return -1
	}
	if a > b {
		return 1
	}
	return 0
}
