package placement_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/internal/placement"
)

// An operator takes a worker back into service after it has handed back what it
// was sent: it gets work at once, not when the cool-down ends.
func TestUncordonEndsACoolDown(t *testing.T) {
	t.Parallel()
	f := fleet(member("a", 2))
	f.Cool("a", "i1", now.Add(placement.DrainCoolDown))
	f.Update([]placement.Member[int]{member("a", 2)})
	require.Nil(t, f.Pick(want(), now).Worker, "a view that tells nothing new ends nothing")
	kept := member("a", 2)
	kept.Online, kept.State = false, "CORDONED"
	f.Update([]placement.Member[int]{kept})
	require.False(t, f.Pick(want(), now).Possible)
	f.Update([]placement.Member[int]{member("a", 2)})
	require.NotNil(t, f.Pick(want(), now).Worker)
}

// yard is the registry and what the owner really runs where, both kept dumbly.
type yard struct {
	t     *rapid.T
	fleet *placement.Fleet[int]
	now   time.Time
	view  map[string]placement.Member[int]
	runs  map[placed]int
	// doubted and cooled are as the owner was told.
	doubted map[placed]bool
	cooled  map[placed]time.Time
}

type placed struct{ id, instance string }

func of(m placement.Worker) placed { return placed{m.ID, m.Instance} }

// change draws the registry's next view of one worker: operators, silence, a new
// process, other slots, removal.
func (y *yard) change(id string) {
	before, there := y.view[id]
	m := before
	switch kind := rapid.IntRange(0, 6).Draw(y.t, "change"); {
	case !there || kind == 0:
		m = member(id, rapid.IntRange(0, 3).Draw(y.t, "slots"))
		m.Instance = fmt.Sprintf("i%d", rapid.IntRange(1, 3).Draw(y.t, "instance"))
		m.Beat = before.Beat + 1
		if there && before.Instance != m.Instance {
			m.Fenced = []string{before.Instance}
		}
		for p := range y.runs {
			if p.id == id && p.instance != m.Instance {
				delete(y.runs, p) // Its owner gives up what an earlier process ran.
			}
		}
	case kind == 1:
		m.Online, m.State = false, rapid.SampledFrom([]string{"CORDONED", "DRAINING", "UNREACHABLE"}).Draw(y.t, "state")
	case kind == 2:
		m.Online, m.Offline, m.State, m.Gone = false, true, "OFFLINE", rapid.Bool().Draw(y.t, "gone")
	case kind == 3:
		m.Online, m.Offline, m.Gone, m.State = true, false, false, "ONLINE"
	case kind == 4:
		m.Fresh, m.Beat = true, m.Beat+1
	case kind == 5:
		m.Fresh = false
	default:
		delete(y.view, id)
		return
	}
	y.view[id] = m
}

func (y *yard) update() {
	var view []placement.Member[int]
	for id, m := range y.view {
		view = append(view, m)
		if old := y.fleet.Find(id); old != nil && of(old.Worker) == of(m.Worker) {
			if old.Beat != m.Beat {
				delete(y.doubted, of(m.Worker))
			}
			if m.Online && !old.Online {
				delete(y.cooled, of(m.Worker))
			}
		} else {
			delete(y.doubted, of(m.Worker))
			delete(y.cooled, of(m.Worker))
		}
	}
	y.fleet.Update(view)
}

// serves says whether the worker may get one more, as a person would.
func (y *yard) serves(m placement.Member[int]) bool {
	p := of(m.Worker)
	return m.Online && m.Fresh && !y.doubted[p] && !y.cooled[p].After(y.now) && y.runs[p] < m.Offer
}

func (y *yard) send() {
	able := 0
	for _, m := range y.view {
		if y.serves(m) {
			able++
		}
	}
	found := y.fleet.Pick(want(), y.now)
	require.Equal(y.t, able > 0, found.Worker != nil, "work is sent exactly if somebody can take it")
	if found.Worker == nil {
		return
	}
	require.True(y.t, y.serves(y.view[found.Worker.ID]), found.Worker.ID)
	found.Worker.Take(want(), y.now)
	y.runs[of(found.Worker.Worker)]++
}

func (y *yard) check() {
	require.Len(y.t, y.fleet.Members(), len(y.view))
	for id, m := range y.view {
		got := y.fleet.Find(id)
		require.Equal(y.t, m.Worker, got.Worker)
		require.Equal(y.t, m.Gone, y.fleet.Gone(id, m.Instance) != "")
		require.False(y.t, y.fleet.IsFenced(id, m.Instance))
		for _, fenced := range m.Fenced {
			require.NotEmpty(y.t, y.fleet.Gone(id, fenced))
		}
		require.Equal(y.t, y.runs[of(m.Worker)], got.InFlight)
	}
}

// Whatever operators, processes and the registry do with the workers: work goes to
// those that can take it and to no others, doubts and cool-downs end when they
// should, and what a worker runs of the owner is known also after it was in no view
// for a while.
func TestPlacementWhileTheFleetChanges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		y := &yard{
			t: t, fleet: fleet(), now: now, view: map[string]placement.Member[int]{}, runs: map[placed]int{},
			doubted: map[placed]bool{}, cooled: map[placed]time.Time{},
		}
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			id := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "worker")
			m, there := y.view[id]
			switch rapid.IntRange(0, 6).Draw(t, "act") {
			case 0, 1:
				y.change(id)
				y.update()
			case 2:
				if there {
					y.fleet.Cool(id, m.Instance, y.now.Add(placement.DrainCoolDown))
					y.cooled[of(m.Worker)] = y.now.Add(placement.DrainCoolDown)
				}
			case 3:
				if there {
					y.fleet.Doubt(id, m.Instance)
					y.doubted[of(m.Worker)] = true
				}
			case 4:
				// It ends, also on a worker that is in no view just now.
				p := placed{id, rapid.SampledFrom([]string{"i1", "i2", "i3"}).Draw(t, "instance")}
				y.fleet.Release(p.id, p.instance, "")
				y.runs[p] = max(0, y.runs[p]-1)
			case 5:
				y.now = y.now.Add(time.Duration(rapid.IntRange(0, 8000).Draw(t, "ms")) * time.Millisecond)
			default:
				y.send()
			}
			y.check()
		}
	})
}
