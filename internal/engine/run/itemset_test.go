package run

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
)

// TestItemSetIsASortedMap compares the set with a map that is sorted each time.
func TestItemSetIsASortedMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, naive := newItemSet(), map[int]*item{}
		for range rapid.IntRange(0, 400).Draw(t, "steps") {
			it := &item{Item: Item{ID: rapid.IntRange(0, 30).Draw(t, "id")}}
			switch rapid.IntRange(0, 2).Draw(t, "do") {
			case 0:
				s.remove(it)
				delete(naive, it.ID)
			default:
				s.add(it)
				naive[it.ID] = it
			}
			require.Equal(t, byID(naive), s.sorted())
			require.Equal(t, len(naive), s.len())
			if rapid.Bool().Draw(t, "look") {
				var first *item
				if list := byID(naive); len(list) > 0 {
					first = list[0]
				}
				require.Same(t, first, s.first())
			}
			require.LessOrEqual(t, len(s.order), 2*max(len(naive), minOrder)+1)
		}
	})
}

// TestTheMainWaitCostsNoList: a sorted list of the items that wait for resources takes
// memory for each of them.
func TestTheMainWaitCostsNoList(t *testing.T) { //nolint:paralleltest // It measures what the process allocates.
	e := New(Config{Claims: true, Work: map[string]Work{"w": {Handler: "h"}}}, epoch)
	e.Apply(epoch, WorkersChanged{Workers: []contract.WorkerView{online(1)}})
	const many = 5_000
	for id := range many {
		e.Offer(epoch, Item{ID: id + 1, Work: "w", Needs: Needs{Pools: map[string]int{"db": 1}}})
	}
	e.Take(epoch)
	require.Equal(t, many, e.gate.len(), "all have requested what they need")
	assert.Equal(t, 1, e.MainWait())
	assert.Zero(t, testing.AllocsPerRun(10, func() { e.MainWait() }))
}
