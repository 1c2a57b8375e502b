package run

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/jobtype"
)

// crowded answers an item's request like an admission without free resources, and returns the
// reported items.
func (s *script) crowded(id int) (told []int) {
	s.e.Apply(s.now, Waits{Item: id, Ask: s.e.items[id].Ask})
	_, reports := s.e.Take(s.now)
	for _, r := range reports {
		if r.Kind == Crowded {
			told = append(told, r.Item)
		}
	}
	return told
}

// TestAnItemIsReportedWhenItsCrowdBecomesFull: the item waited for a worker before. A restored
// engine does not report it again.
func TestAnItemIsReportedWhenItsCrowdBecomesFull(t *testing.T) {
	t.Parallel()
	s := play(t, Config{Claims: true, Admit: true}, jobtype.Policy{}, node("a", 50))
	db := Needs{Pools: map[string]int{"db": 1}}
	s.offer(Item{ID: 1, Needs: db})
	assert.Equal(t, []int{1}, s.crowded(1))
	s.offer(Item{ID: 100, Needs: db, Want: Want{Node: "b"}})
	for id := 2; id < maxAlike; id++ {
		s.offer(Item{ID: id, Needs: db})
		assert.Equal(t, []int{id}, s.crowded(id))
	}
	s.offer(Item{ID: maxAlike, Needs: db})
	assert.Equal(t, []int{100, maxAlike}, s.crowded(maxAlike))
	s.reload()
	_, reports := s.e.Take(s.now)
	assert.Empty(t, reports)
}

// TestAFullCrowdDoesNotTryWorkers: its items cannot start, and the run would wake in a loop.
func TestAFullCrowdDoesNotTryWorkers(t *testing.T) {
	t.Parallel()
	s := play(t, Config{Claims: true, Limit: 2}, jobtype.Policy{}, node("a", 1))
	db := Needs{Pools: map[string]int{"db": 1}}
	s.offer(Item{ID: 1, Needs: db}, Item{ID: 2, Needs: db})
	s.crowded(1)
	s.crowded(2)
	assert.Equal(t, "10@a", starts(s.offer(Item{ID: 3, Needs: db}, Item{ID: 10})))
	s.endSaying(10, "", s.said(1, 0))
	for range 100 {
		wake := s.e.NextWake()
		if wake.IsZero() {
			return
		}
		s.now = wake
		s.step(Tick{})
		assert.NotEqual(t, wake, s.e.NextWake(), "it wakes at once again")
	}
}

// TestAHigherLimitLetsACrowdRequest: the crowd was full at limit 1, and nothing else happens
// after the change.
func TestAHigherLimitLetsACrowdRequest(t *testing.T) {
	t.Parallel()
	s := play(t, Config{Claims: true, Limit: 1}, jobtype.Policy{}, node("a", 50))
	db := Needs{Pools: map[string]int{"db": 1}}
	s.offer(Item{ID: 1, Needs: db}, Item{ID: 2, Needs: db})
	s.crowded(1)
	assert.Zero(t, s.e.items[2].Ask, "the crowd is full")
	s.e.SetLimit(2)
	s.e.Take(s.now)
	assert.NotZero(t, s.e.items[2].Ask)
}
