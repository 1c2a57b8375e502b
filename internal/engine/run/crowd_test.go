package run_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/jobtype"
)

func bothSources(t *testing.T, play func(t *testing.T, start begin)) {
	t.Helper()
	for name, start := range map[string]begin{"group": beginGroup, "dag": beginGraph} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, start)
		})
	}
}

// turnAway answers requests while item 1 holds the pool, until no more come. It returns their
// number.
func turnAway(s *stage) int {
	answered := map[int]bool{1: true}
	for {
		more := false
		for _, item := range slices.Sorted(maps.Keys(s.ask)) {
			if _, pool := s.needs[item].Pools["db"]; pool && !answered[item] {
				answered[item], more = true, true
				s.step(run.Waits{Item: item, Ask: s.ask[item]})
			}
		}
		if !more {
			return len(answered)
		}
	}
}

// TestWaitingForAPoolTakesNoPlace: the limit of both sources is 10. One item has the pool, and
// the others with that need come before items with other needs.
func TestWaitingForAPoolTakesNoPlace(t *testing.T) {
	t.Parallel()
	bothSources(t, func(t *testing.T, start begin) {
		list := slices.Repeat([]work{{db: 1}}, 40)
		for i := range 3 {
			list = append(list, work{exclusive: fmt.Sprint("volume/", i)})
		}
		s := newStage(t, start, jobtype.Policy{}, list, online("a", 50))
		s.grant(1)
		asked := turnAway(s)
		assert.LessOrEqual(t, asked, 30, "those with the same needs do not all request them")
		started := ""
		for item := 41; item <= 43; item++ {
			require.True(t, s.requests(item), "item %d", item)
			started += s.grant(item)
		}
		assert.Equal(t, "41@a42@a43@a", started)
		for item := 1; item <= 40; item++ {
			require.True(t, s.requests(item), "item %d", item)
			if item > 1 {
				require.NotEmpty(t, s.grant(item), "item %d", item)
			}
			s.end(item, "")
			turnAway(s)
		}
		for item := 1; item <= 40; item++ {
			assert.Equal(t, "completed", s.ended(s.now, item))
		}
	})
}

// TestNoMoreIsHeldIdleThanPlaces: the pools of all waiting items become free while the run is
// full.
func TestNoMoreIsHeldIdleThanPlaces(t *testing.T) {
	t.Parallel()
	bothSources(t, func(t *testing.T, start begin) {
		var list []work
		for i := range 40 {
			list = append(list, work{exclusive: fmt.Sprint("volume/", i)})
		}
		s := newStage(t, start, jobtype.Policy{}, list, online("a", 50))
		for item := 1; item <= 40; item++ {
			require.True(t, s.requests(item), "item %d", item)
			s.step(run.Waits{Item: item, Ask: s.ask[item]})
		}
		for item := 1; item <= 40; item++ {
			s.grant(item)
		}
		assert.Len(t, s.holds, 20, "ten run, ten have what the next places need")
		for ended := 0; ended < 40; {
			before := ended
			for item := 1; item <= 40; item++ {
				if s.attempt[item] > 0 && s.ended(s.now, item) == "open" {
					s.end(item, "")
					ended++
				}
			}
			for item := 1; item <= 40; item++ {
				if s.attempt[item] == 0 && s.requests(item) {
					s.grant(item)
				}
			}
			require.Greater(t, ended, before, "items are left over")
		}
		assert.Empty(t, s.holds)
	})
}

// TestADeadWorkerReturnsGrants: an item for an absent worker keeps no pool from others.
func TestADeadWorkerReturnsGrants(t *testing.T) {
	t.Parallel()
	bothSources(t, func(t *testing.T, start begin) {
		s := newStage(t, start, jobtype.Policy{}, []work{{node: "a", db: 1}}, online("a", 1), online("b", 1))
		require.True(t, s.requests(1))
		away := online("a", 1)
		away.State, away.Fresh = contract.WorkerUnreachable, false
		s.step(run.WorkersChanged{Workers: []contract.WorkerView{away, online("b", 1)}})
		require.Empty(t, s.grant(1))
		assert.False(t, s.requests(1), "its pool is given back")
		s.wait(time.Second)
		s.step(run.WorkersChanged{Workers: []contract.WorkerView{online("a", 1), online("b", 1)}})
		require.True(t, s.requests(1))
		assert.Equal(t, "1@a", s.grant(1))
	})
}

// TestALostAttemptKeepsItsObject: its work may be half done, so that no other item gets the
// object before it is repeated. A pool is released.
func TestALostAttemptKeepsItsObject(t *testing.T) {
	t.Parallel()
	bothSources(t, func(t *testing.T, start begin) {
		s := newStage(t, start, jobtype.Policy{}, []work{{node: "a", exclusive: "volume/1"}, {node: "a", db: 1}}, online("a", 2), online("b", 2))
		require.Equal(t, "1@a", s.grant(1))
		require.Equal(t, "2@a", s.grant(2))
		away := online("a", 2)
		away.State, away.Fresh = contract.WorkerUnreachable, false
		s.step(run.WorkersChanged{Workers: []contract.WorkerView{away, online("b", 2)}})
		for item := range 2 {
			s.endWith(item+1, run.Ending{Failure: contract.FailureWorkerLost, Message: "the stream ended", Gone: true})
		}
		s.wait(time.Second)
		assert.True(t, s.requests(1), "its object stays locked")
		assert.False(t, s.requests(2), "its pool is given back")
		back := online("a", 2)
		back.Instance = "again"
		assert.Equal(t, "1@a", s.step(run.WorkersChanged{Workers: []contract.WorkerView{back, online("b", 2)}}))
		require.True(t, s.requests(2))
		assert.Equal(t, "2@a", s.grant(2))
	})
}
