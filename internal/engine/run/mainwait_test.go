package run

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
)

// TestTheMainWaitCostsNoList: a sorted list of the items that wait for resources takes memory
// for each.
func TestTheMainWaitCostsNoList(t *testing.T) { //nolint:paralleltest // It measures what the process allocates.
	e := New(Config{Claims: true, Work: map[string]Work{"w": {Handler: "h"}}}, epoch)
	e.Apply(epoch, WorkersChanged{Workers: []contract.WorkerView{online(1)}})
	const many = 5_000
	for id := range many {
		e.Offer(epoch, Item{ID: id + 1, Work: "w", Needs: Needs{Pools: map[string]int{"db": 1}}})
	}
	e.Take(epoch)
	require.Equal(t, many, e.gate.Len(), "all have requested what they need")
	assert.Equal(t, 1, e.MainWait())
	assert.Zero(t, testing.AllocsPerRun(10, func() { e.MainWait() }))
}
