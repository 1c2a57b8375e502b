package run

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/roundsman/roundsman/internal/engine/explain"

	"github.com/roundsman/roundsman/contract"
)

// Bounds of all checkpoints of a run, which are part of its state.
const (
	maxCheckpoints = 512 << 10
	// checkpointsLeft is the total after a cut. It is smaller than the bound, so that not every
	// checkpoint causes a search through the items.
	checkpointsLeft = maxCheckpoints * 3 / 4
)

// checkpoints has the sizes of the items' checkpoints, and their sum.
type checkpoints struct {
	of    map[int]int
	bytes int
}

// keepCheckpoint counts the checkpoint of an item. Beyond maxCheckpoints the largest ones are
// dropped: the next attempts of their items start from the beginning.
func (e *ledger) keepCheckpoint(it *item) {
	e.forgetCheckpoint(it)
	c := &e.checkpoints
	size := len(it.Checkpoint)
	if size == 0 {
		return
	}
	if c.of == nil {
		c.of = map[int]int{}
	}
	c.of[it.ID] = size
	if c.bytes += size; c.bytes > maxCheckpoints {
		e.dropCheckpoints()
	}
}

func (e *ledger) forgetCheckpoint(it *item) {
	e.checkpoints.bytes -= e.checkpoints.of[it.ID]
	delete(e.checkpoints.of, it.ID)
}

func (e *ledger) dropCheckpoints() {
	c := &e.checkpoints
	ids := make([]int, 0, len(c.of))
	//workflowcheck:ignore sorted right below
	for id := range c.of {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b int) int { return cmp.Or(c.of[b]-c.of[a], a-b) })
	for _, id := range ids {
		if c.bytes <= checkpointsLeft {
			return
		}
		it := e.items[id]
		e.Note(Note{Verdict: Delayed, Code: contract.CodeCheckpoint, Item: id, Detail: fmt.Sprintf(explain.TextCheckpoint, c.of[id])})
		e.forgetCheckpoint(it)
		it.Checkpoint, it.Done = nil, 0
		if !it.inFlight() {
			e.watchClosing(it) // It needs its whole time again.
		}
	}
}
