package run

import (
	"fmt"

	"github.com/roundsman/roundsman/internal/engine/explain"

	"github.com/roundsman/roundsman/contract"
)

// keepCheckpoint drops the largest checkpoints beyond their bound: their items start from the beginning.
func (e *ledger) keepCheckpoint(it *item) {
	if !e.checkpoints.Set(it.ID, len(it.Checkpoint)) {
		return
	}
	for _, id := range e.checkpoints.Surplus() {
		it := e.items[id]
		e.Note(Note{Verdict: Delayed, Code: contract.CodeCheckpoint, Item: id, Detail: fmt.Sprintf(explain.TextCheckpoint, e.checkpoints.Of(id))})
		e.forgetCheckpoint(it)
		it.Checkpoint, it.Done = nil, 0
		if !it.inFlight() {
			e.watchClosing(it) // It needs its whole time again.
		}
	}
}

func (e *ledger) forgetCheckpoint(it *item) { e.checkpoints.Set(it.ID, 0) }
