package placement_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/internal/placement"
)

// floor is the deliberately dumb reference: workers that really know what they
// run, and an owner that always has work and sends it as the fleet says.
type floor struct {
	t     *rapid.T
	fleet *placement.Fleet[box]
	now   time.Time
	// others is what each worker runs for others, own what of the owner's.
	others, own map[string]int
	total       int
	// idleSince is since when a worker has had a free slot without being tried.
	idleSince map[string]time.Time
	refused   int
}

// bound is the longest that a worker with a free slot is passed over: the pause,
// the cool-down that comes with it, and the grid.
func (w *floor) bound() time.Duration {
	return max(placement.TrialPauseMost, time.Duration(len(w.others))*500*time.Millisecond) + placement.CoolDown + time.Second
}

// send places all that can be placed. A worker without a slot refuses, and says
// what others use; or it says nothing.
func (w *floor) send() {
	for range 1000 {
		found := w.fleet.Pick(work(""), w.now)
		if found.Worker == nil {
			require.False(w.t, !found.Again.IsZero() && !found.Again.After(w.now), "it may be tried now, and is not")
			return
		}
		m := found.Worker
		require.False(w.t, m.CoolUntil.After(w.now))
		require.True(w.t, m.InFlight+m.Load.Others < w.total || !m.Load.TryAt.After(w.now), "more than fits as far as it knows")
		require.Less(w.t, m.InFlight, w.total, "more than the worker has")
		m.Take(work(""), w.now)
		w.idleSince[m.ID] = w.now
		if w.own[m.ID]+w.others[m.ID] < w.total {
			w.own[m.ID]++
			continue
		}
		w.refused++
		silent := rapid.IntRange(0, 4).Draw(w.t, "silent") == 0
		if !silent {
			w.fleet.Hear(m.ID, "i1", "", said(w.now, w.others[m.ID], 0), w.now)
		}
		if w.fleet.Refused(m.ID, "i1", work(""), silent, w.now) {
			w.fleet.Cool(m.ID, "i1", w.now.Add(placement.CoolDown))
		}
		w.fleet.Release(m.ID, "i1", "")
	}
	w.t.Fatal("it sends for ever")
}

func (w *floor) check() {
	for id, others := range w.others {
		m := w.fleet.Find(id)
		require.Equal(w.t, w.own[id], m.InFlight)
		if others+w.own[id] >= w.total {
			w.idleSince[id] = w.now
		}
		require.LessOrEqual(w.t, w.now.Sub(w.idleSince[id]), w.bound(), "%s has a free slot and is not tried: %+v", id, m.Load)
	}
}

// TestPlacementWithOthersOnTheFloor: never more than fits in the owner's own view
// but for a trial, and no worker with a free slot is passed over for longer than
// the bound, whatever others do.
func TestPlacementWithOthersOnTheFloor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &floor{t: t, now: now, others: map[string]int{}, own: map[string]int{}, idleSince: map[string]time.Time{}, total: rapid.IntRange(1, 5).Draw(t, "slots")}
		var ids []string
		for i := range rapid.IntRange(1, 4).Draw(t, "workers") {
			id := fmt.Sprintf("w%d", i)
			ids = append(ids, id)
			w.others[id], w.idleSince[id] = rapid.IntRange(0, w.total).Draw(t, "others"), now
		}
		w.fleet = boxes(w.total, nil, ids...)
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			id := rapid.SampledFrom(ids).Draw(t, "worker")
			switch rapid.IntRange(0, 5).Draw(t, "act") {
			case 0: // Others come, or go.
				w.others[id] = min(rapid.IntRange(0, w.total).Draw(t, "others"), w.total-w.own[id])
			case 1: // One of the owner's ends, and its worker says what it sees.
				if w.own[id] > 0 {
					w.own[id]--
					w.fleet.Release(id, "i1", "")
					w.fleet.Hear(id, "i1", "", said(w.now, w.others[id], 0), w.now)
				}
			case 2: // A heartbeat is read.
				w.fleet.HearUsed(id, "i1", w.now, w.own[id]+w.others[id], w.now)
			default:
				w.now = w.now.Add(time.Duration(rapid.IntRange(1, 3000).Draw(t, "ms")) * time.Millisecond)
			}
			w.send()
			w.check()
		}
	})
}

// TestNobodyIsTriedTooOften: with everything full, each worker refuses at first
// what it was sent at once, and then once in a pause.
func TestNobodyIsTriedTooOften(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &floor{t: t, now: now, others: map[string]int{}, own: map[string]int{}, idleSince: map[string]time.Time{}, total: rapid.IntRange(1, 8).Draw(t, "slots")}
		var ids []string
		for i := range rapid.IntRange(1, 4).Draw(t, "workers") {
			ids = append(ids, fmt.Sprintf("w%d", i))
			w.others[ids[i]] = w.total
		}
		w.fleet = boxes(w.total, nil, ids...)
		const minutes = 10
		for w.now.Before(now.Add(minutes * time.Minute)) {
			w.send()
			w.now = w.now.Add(time.Duration(rapid.IntRange(100, 2000).Draw(t, "ms")) * time.Millisecond)
		}
		require.LessOrEqual(t, w.refused, len(ids)*(w.total+4+minutes*60/int(placement.TrialPauseMost.Seconds())))
	})
}
