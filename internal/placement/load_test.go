package placement_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/placement"
)

// box is a worker's offer in these tests: slots in all, and a cap of each handler.
type box struct {
	total int
	caps  map[string]int
}

func boxes(total int, caps map[string]int, ids ...string) *placement.Fleet[box] {
	members := make([]placement.Member[box], len(ids))
	for i, id := range ids {
		members[i] = placement.Member[box]{Worker: member(id, 0).Worker, Offer: box{total, caps}}
	}
	var f placement.Fleet[box]
	f.Update(members)
	return &f
}

func work(handler string) placement.Want[box] {
	return placement.Want[box]{
		Handler: handler,
		Total:   func(b box) int { return b.total },
		Slots: func(b box) int {
			if limit, ok := b.caps[handler]; ok {
				return min(limit, b.total)
			}
			return b.total
		},
	}
}

// fill places work until nothing can be placed any more.
func fill(f *placement.Fleet[box], w placement.Want[box], at time.Time) (ids string) {
	for range 100 {
		found := f.Pick(w, at)
		if found.Worker == nil {
			return ids
		}
		found.Worker.Take(w, at)
		ids += found.Worker.ID
	}
	return "too many"
}

func said(at time.Time, others, ofHandler int) placement.Report {
	return placement.Report{At: at, Others: others, OfHandler: ofHandler}
}

func TestWhatOthersUseIsNotFree(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		report placement.Report
		placed string
	}{
		"nothing was said":           {placement.Report{}, "aaaa"},
		"nobody else is there":       {said(now, 0, 0), "aaaa"},
		"others of another handler":  {said(now, 1, 0), "aaaa"},
		"others use the cap":         {said(now, 1, 1), "aaa"},
		"others use all but one":     {said(now, 5, 2), "a"},
		"others use the whole cap":   {said(now, 4, 4), ""},
		"others use all slots":       {said(now, 6, 0), ""},
		"others use more than there": {said(now, 9, 9), ""},
		"a negative number is none":  {said(now, -3, -1), "aaaa"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := boxes(6, map[string]int{"h": 4}, "a")
			f.Hear("a", "i1", "h", c.report, now)
			assert.Equal(t, c.placed, fill(f, work("h"), now))
		})
	}
}

func TestEachHandlerHasItsOwnCap(t *testing.T) {
	t.Parallel()
	f := boxes(6, map[string]int{"h": 2, "g": 3}, "a")
	f.Hear("a", "i1", "h", said(now, 1, 1), now)
	assert.Equal(t, "a", fill(f, work("h"), now)[:1])
	assert.Equal(t, "aaa", fill(f, work("g"), now), "what h runs counts against all slots, not against the cap of g")
}

func TestOlderWordsChangeNothing(t *testing.T) {
	t.Parallel()
	f := boxes(4, nil, "a")
	assert.False(t, f.Hear("a", "i1", "", said(now.Add(time.Second), 3, 0), now))
	assert.False(t, f.Hear("a", "i1", "", said(now, 0, 0), now), "what it said before")
	assert.False(t, f.Hear("a", "i0", "", said(now.Add(time.Hour), 0, 0), now), "another process")
	assert.False(t, f.HearUsed("a", "i1", now, 0, now), "an older heartbeat")
	assert.Equal(t, 3, f.Find("a").Load.Others)
	assert.True(t, f.Hear("a", "i1", "", said(now.Add(2*time.Second), 1, 0), now))
	assert.Equal(t, "aaa", fill(f, work(""), now))
	assert.True(t, f.HearUsed("a", "i1", now.Add(3*time.Second), 3, now), "three in use, and they are the owner's")
	assert.Zero(t, f.Find("a").Load.Others)
}

func TestAFreeWorkerIsPreferredToATrial(t *testing.T) {
	t.Parallel()
	f := boxes(2, nil, "a", "b")
	f.Hear("a", "i1", "", said(now, 2, 0), now)
	w, later := work(""), now.Add(placement.TrialPause+time.Second)
	w.Avoid = "b"
	assert.Equal(t, "b", f.Pick(w, later).Worker.ID, "also where it failed before")
	assert.Equal(t, "bb", fill(f, work(""), now), "what was just heard is believed")
	assert.Equal(t, "a", fill(f, work(""), later))
}

// A worker that looks full is tried with one, and with twice as many each time
// that is taken.
func TestTrialsGrowWhileTheyAreTaken(t *testing.T) {
	t.Parallel()
	f := boxes(16, nil, "a")
	f.Hear("a", "i1", "", said(now, 16, 0), now)
	assert.Empty(t, fill(f, work(""), now))
	at, sizes := f.Pick(work(""), now).Again, ""
	for range 4 {
		sizes += fmt.Sprint(len(fill(f, work(""), at))) + " "
		again := f.Pick(work(""), at).Again
		assert.True(t, again.After(at))
		assert.LessOrEqual(t, again.Sub(at), placement.TrialWait+time.Second)
		at = again
	}
	assert.Equal(t, "1 2 4 8 ", sizes)
	assert.Equal(t, 15, f.Find("a").InFlight)
}

func TestRefusedTrialsBecomeRare(t *testing.T) {
	t.Parallel()
	f := boxes(2, nil, "a")
	at := now
	var pauses []time.Duration
	for range 6 {
		for range len(fill(f, work(""), at)) {
			f.Hear("a", "i1", "", said(at, 2, 0), at)
			f.Refused("a", "i1", work(""), false, at)
			f.Release("a", "i1", "")
		}
		again := f.Pick(work(""), at).Again
		pauses = append(pauses, again.Sub(at))
		at = again
	}
	assert.Equal(t, []time.Duration{placement.TrialPause, 2 * placement.TrialPause, 4 * placement.TrialPause, 8 * placement.TrialPause, placement.TrialPauseMost, placement.TrialPauseMost}, pauses,
		"what is refused together counts once")
	f.Hear("a", "i1", "", said(at, 1, 0), at)
	assert.Equal(t, "a", fill(f, work(""), now), "what is heard counts at once")
}

// One that refuses and looks free, because what it said was of the moment before,
// must cool down: else the same work would go there for ever.
func TestARefusalThatWasNotExpectedCools(t *testing.T) {
	t.Parallel()
	f := boxes(2, nil, "a")
	assert.Equal(t, "aa", fill(f, work(""), now))
	f.Hear("a", "i1", "", said(now, 1, 0), now)
	assert.False(t, f.Refused("a", "i1", work(""), false, now), "what remains fills it")
	f.Release("a", "i1", "")
	assert.True(t, f.Refused("a", "i1", work(""), false, now))
	assert.False(t, f.Refused("z", "i1", work(""), false, now))
}

// A worker that says that it has room again does not have to cool down.
func TestAWorkerWithRoomIsWelcome(t *testing.T) {
	t.Parallel()
	f := boxes(2, nil, "a")
	f.Hear("a", "i1", "", said(now, 2, 0), now)
	f.Refused("a", "i1", work(""), false, now)
	f.Cool("a", "i1", now.Add(placement.CoolDown))
	assert.False(t, f.Welcome("a", "i1", "", said(now.Add(-time.Second), 0, 0), now), "an older word")
	assert.False(t, f.Welcome("a", "i0", "", said(now.Add(time.Second), 0, 0), now), "another process")
	assert.Empty(t, fill(f, work(""), now))
	assert.True(t, f.Welcome("a", "i1", "", said(now.Add(time.Second), 1, 0), now))
	assert.Equal(t, "a", fill(f, work(""), now))
	f.Refused("a", "i1", work(""), false, now)
	assert.Equal(t, placement.TrialPause, f.Find("a").Load.Pause, "its pauses begin anew")
}

// Two trials a second are the most in any fleet.
func TestAFullFleetIsNotTriedAllTheTime(t *testing.T) {
	t.Parallel()
	ids := make([]string, 200)
	for i := range ids {
		ids[i] = fmt.Sprintf("w%03d", i)
	}
	f := boxes(1, nil, ids...)
	refuseAll := func(at time.Time) (n int) {
		for {
			found := f.Pick(work(""), at)
			if found.Worker == nil {
				return n
			}
			n++
			found.Worker.Take(work(""), at)
			f.Hear(found.Worker.ID, "i1", "", said(at, 1, 0), at)
			f.Refused(found.Worker.ID, "i1", work(""), false, at)
			f.Release(found.Worker.ID, "i1", "")
		}
	}
	assert.Equal(t, 200, refuseAll(now), "nothing is known of any of them")
	trials := 0
	for at := now; at.Before(now.Add(10 * time.Minute)); at = at.Add(time.Second) {
		trials += refuseAll(at)
	}
	assert.LessOrEqual(t, trials, 2*600)
	assert.GreaterOrEqual(t, trials, 200)
}

// A worker that did not even answer gets no more than it has, until it is heard.
func TestASilentWorkerIsFull(t *testing.T) {
	t.Parallel()
	f := boxes(4, nil, "a")
	assert.Equal(t, "aaaa", fill(f, work(""), now))
	for range 2 {
		f.Refused("a", "i1", work(""), true, now)
		f.Release("a", "i1", "")
	}
	m := f.Find("a")
	assert.Equal(t, []int{2, 2}, []int{m.InFlight, m.Load.Others})
	assert.Empty(t, fill(f, work(""), now))
	assert.Equal(t, "others use 2 slots of a", m.Crowd())
	require.True(t, f.HearUsed("a", "i1", now, 3, now))
	assert.Equal(t, "a", fill(f, work(""), now))
	assert.Equal(t, "others use 1 slot of a", m.Crowd())
}

func TestWhatIsKnownOfAProcessEndsWithIt(t *testing.T) {
	t.Parallel()
	f := boxes(2, nil, "a")
	f.Hear("a", "i1", "", said(now, 2, 0), now)
	next := placement.Member[box]{Worker: member("a", 0).Worker, Offer: box{total: 2}}
	f.Update([]placement.Member[box]{next})
	assert.Equal(t, 2, f.Find("a").Load.Others)
	next.Instance = "i2"
	f.Update([]placement.Member[box]{next})
	assert.Equal(t, "aa", fill(f, work(""), now))
	assert.Zero(t, f.Find("a").Load)
}
