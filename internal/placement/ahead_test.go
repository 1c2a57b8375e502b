package placement_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/internal/placement"
)

// ahead is work of which more may be sent than fits.
func ahead() placement.Want[box] {
	w := work("")
	w.Ahead = true
	return w
}

func TestHowMuchIsSentAhead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		slots, others, perWorker int
		pace                     time.Duration
		placed                   int
	}{
		"nothing is known yet":                     {slots: 4, placed: 4},
		"as many as end within the window":         {slots: 4, pace: 100 * time.Millisecond, placed: 6},
		"at most so many":                          {slots: 4, pace: time.Millisecond, placed: 8},
		"one slot, quick":                          {slots: 1, pace: 50 * time.Millisecond, placed: 2},
		"one slot, not quick enough":               {slots: 1, pace: 51 * time.Millisecond, placed: 1},
		"many slots end quickly together":          {slots: 25, pace: 400 * time.Millisecond, placed: 28},
		"slow":                                     {slots: 100, pace: 401 * time.Millisecond, placed: 100},
		"what others use ends who knows when":      {slots: 4, others: 3, pace: 25 * time.Millisecond, placed: 3},
		"others use all":                           {slots: 4, others: 4, pace: time.Millisecond, placed: 0},
		"the owner's limit counts what is sent":    {slots: 4, perWorker: 5, pace: time.Millisecond, placed: 5},
		"the owner's limit is below what there is": {slots: 4, perWorker: 3, pace: time.Millisecond, placed: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := boxes(c.slots, nil, "a")
			f.Hear("a", "i1", "", said(now, c.others, 0), now)
			f.Ended("a", "i1", c.pace)
			w := ahead()
			w.PerWorker = c.perWorker
			placed := 0
			for found := f.Pick(w, now); found.Worker != nil; found = f.Pick(w, now) {
				found.Worker.Take(w, now)
				placed++
			}
			assert.Equal(t, c.placed, placed)
		})
	}
}

func TestAheadIsTheSecondChoice(t *testing.T) {
	t.Parallel()
	f := boxes(2, nil, "a", "b", "c")
	f.Ended("a", "i1", 50*time.Millisecond)
	f.Ended("b", "i1", 100*time.Millisecond)
	f.Hear("c", "i1", "", said(now, 2, 0), now)
	w := ahead()
	w.Avoid = "b"
	later := now.Add(placement.TrialPause)
	assert.Equal(t, "aabb"+"aab"+"c", fill(f, w, later), "free slots, then those that end soon, then a trial")
}

// What was sent ahead and found no slot ends it, until something ends there again.
func TestNothingIsSentAheadAfterARefusal(t *testing.T) {
	t.Parallel()
	f := boxes(2, nil, "a")
	f.Ended("a", "i1", time.Millisecond)
	assert.Equal(t, "aaaaaa", fill(f, ahead(), now))
	assert.False(t, f.Refused("a", "i1", ahead(), false, now), "it is known to be full: no need to cool it")
	f.Release("a", "i1", "")
	assert.Empty(t, fill(f, ahead(), now))
	f.Release("a", "i1", "")
	f.Ended("a", "i1", 50*time.Millisecond)
	assert.Empty(t, fill(f, ahead(), now), "two run and two still wait")
	f.Release("a", "i1", "")
	assert.Equal(t, "a", fill(f, ahead(), now))
	f.Ended("a", "other", time.Millisecond)
	f.Ended("gone", "i1", time.Millisecond)
	assert.Empty(t, fill(f, ahead(), now), "another process says nothing about this one")
}

func TestPaceFollows(t *testing.T) {
	t.Parallel()
	f := boxes(4, nil, "a")
	f.Ended("a", "i1", time.Millisecond)
	f.Ended("a", "i1", 10*time.Minute)
	assert.Equal(t, "aaaa", fill(f, ahead(), now), "one long piece of work ends it for a while")
	for range 200 {
		f.Ended("a", "i1", time.Millisecond)
	}
	assert.Equal(t, "aaaa", fill(f, ahead(), now))
	f.Ended("a", "i1", 0)
	assert.GreaterOrEqual(t, f.Find("a").Pace, time.Millisecond, "what took no time at all is unknown")
}

// gated is a worker as it really is: what runs, until when, and what waits.
type gated struct {
	running []time.Time
	waiting []time.Time
}

// TestSentAheadWaitsShortly: with work that always takes the same time nothing that
// is sent ahead waits for longer than the window, no slot is empty while there is
// somebody to send ahead to, and the limits hold.
func TestSentAheadWaitsShortly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.IntRange(1, 8).Draw(t, "slots")
		takes := time.Duration(rapid.IntRange(1, 500).Draw(t, "ms")) * time.Millisecond
		var ids []string
		for i := range rapid.IntRange(1, 3).Draw(t, "workers") {
			ids = append(ids, fmt.Sprintf("w%d", i))
		}
		f, at, really := boxes(slots, nil, ids...), now, map[string]*gated{}
		for _, id := range ids {
			really[id] = &gated{}
		}
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			for found := f.Pick(ahead(), at); found.Worker != nil; found = f.Pick(ahead(), at) {
				m, w := found.Worker, really[found.Worker.ID]
				if len(w.running) == slots {
					for _, id := range ids {
						require.Len(t, really[id].running, slots, "%s is sent something ahead, and %s has a free slot", m.ID, id)
					}
					w.waiting = append(w.waiting, at)
				} else {
					w.running = append(w.running, at.Add(takes))
				}
				m.Take(ahead(), at)
				require.LessOrEqual(t, m.InFlight, slots+placement.MaxAhead)
			}
			at = at.Add(time.Duration(rapid.IntRange(0, 30).Draw(t, "pass")) * time.Millisecond)
			for _, id := range ids {
				really[id].advance(t, f, id, takes, at)
			}
		}
	})
}

// advance lets end what has ended; its place goes to who has waited longest.
func (w *gated) advance(t *rapid.T, f *placement.Fleet[box], id string, takes time.Duration, at time.Time) {
	for len(w.running) > 0 && !w.running[0].After(at) {
		ended := w.running[0]
		w.running = w.running[1:]
		f.Ended(id, "i1", takes)
		f.Release(id, "i1", "")
		if len(w.waiting) > 0 {
			require.LessOrEqual(t, ended.Sub(w.waiting[0]), placement.AheadWindow+takes)
			w.running = append(w.running, ended.Add(takes))
			w.waiting = w.waiting[1:]
		}
	}
}
