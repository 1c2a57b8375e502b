package run

import (
	"time"

	"github.com/roundsman/roundsman/internal/engine/explain"

	"github.com/roundsman/roundsman/contract"
)

// acquire requests what an item needs.
func (e *Engine) acquire(it *item, now time.Time) {
	e.dequeue(it)
	e.asks++
	it.Ask = e.asks // An answer to an earlier item of that id does not count.
	it.Phase, it.Asking, it.WaitsAt = PhaseAsking, true, now
	e.gate.Add(it.ID, it)
	needs := it.Needs // The decision may be carried out after the item has settled.
	e.decide(Decision{Kind: Acquire, Item: it.ID, Ask: it.Ask, Needs: &needs})
}

// release gives an item's resources back, or its place among those that wait for
// them. The caller takes the item out of its class first.
func (e *Engine) release(it *item) {
	if !it.Granted && !it.Asking {
		return
	}
	e.decide(Decision{Kind: Release, Item: it.ID, Ask: it.Ask})
	it.Granted, it.Asking, it.Fence, it.FenceEnd = false, false, 0, 0
	e.unwait(it)
	e.gate.Remove(it.ID)
}

// askingFor returns the item if it still waits for the answer to that request.
func (e *Engine) askingFor(id, ask int) *item {
	if it := e.items[id]; it != nil && it.Phase == PhaseAsking && it.Ask == ask {
		return it
	}
	return nil
}

func (v Granted) apply(e *Engine, now time.Time) {
	it := e.askingFor(v.Item, v.Ask)
	if it == nil {
		return
	}
	e.roll.Progress()
	e.unwait(it)
	e.noteWait(contract.CodeResources, it.ID, it.Needs.String(), it.WaitsAt, now)
	it.Granted, it.Asking, it.Fence, it.FenceEnd, it.QueuedAt = true, false, v.Fence-1, v.Fence+v.Fences-1, now
	if e.admit {
		it.Phase = PhaseGranted
		e.reports = append(e.reports, Report{Kind: Admitted, Item: it.ID, Known: v.Result})
		return
	}
	if e.limit > 0 && e.atGate() > e.limit { // It would keep idle what others wait for.
		e.release(it)
	}
	e.push(it, now)
}

// Proceed lets an item start that has its resources, see [Config.Admit].
func (e *Engine) Proceed(now time.Time, id int) {
	if it := e.items[id]; it != nil && (it.Phase == PhaseGranted || it.Phase == PhaseDue) {
		it.QueuedAt = now
		e.push(it, now)
	}
}

func (v Refused) apply(e *Engine, now time.Time) {
	if it := e.askingFor(v.Item, v.Ask); it != nil {
		e.unwait(it)
		e.gate.Remove(it.ID) // There is nothing to release.
		it.Phase, it.Asking = PhaseNone, false
		e.settle(it, Failed, v.Reason, now)
	}
}

func (v Revoked) apply(e *Engine, now time.Time) {
	if it := e.items[v.Item]; it != nil && it.Granted && it.Ask == v.Ask {
		e.note(Note{Verdict: Terminated, Code: contract.CodeGrantLost, Item: it.ID, Detail: v.Reason})
		e.cancel(it, explain.TextRevoked+v.Reason, now)
	}
}

func (v Renewed) apply(e *Engine, _ time.Time) {
	if it := e.items[v.Item]; it != nil && it.Granted && it.Ask == v.Ask {
		it.Fence, it.FenceEnd = v.Fence-1, v.Fence+v.Fences-1
	}
}

func (v FencesGranted) apply(e *Engine, _ time.Time) { e.SetFences(v.Fence, v.Fences) }

// hasFence makes sure that the next attempt of the item can get a fence.
func (e *Engine) hasFence(it *item) bool {
	if e.fenceEnd == 0 || e.fence < e.fenceEnd || it.Granted {
		return true
	}
	if !e.wantsFences {
		e.wantsFences = true
		e.decide(Decision{Kind: MoreFences})
	}
	return false
}

// nextFence is greater than every fence that was given for the same key or object
// before.
func (e *Engine) nextFence(it *item) int64 {
	if it.Granted {
		it.Fence++
		return it.Fence
	}
	e.fence++
	e.fenced = true
	return e.fence
}

// releaseIfContended gives back what an item was granted that found no room on its
// worker, if no other worker has room either: others can use it meanwhile. The item
// requests it again when there is a worker.
func (e *Engine) releaseIfContended(it *item, c *class) {
	if it.Granted && (len(c.workers) == 0 || c.workers[0].tier != tierFree) {
		e.release(it)
	}
}

// SetFences gives the run another range, greater than those before. An empty one
// changes nothing.
func (e *Engine) SetFences(fence, n int64) {
	e.wantsFences = false
	last := fence + n - 1
	switch {
	case n <= 0:
	case e.fenceEnd == 0 && !e.fenced: // None of the clock's was given.
		e.fence, e.fenceEnd = fence-1, last
	case e.fenceEnd == 0 && last <= e.fence: // Those of the clock are greater, and do not end.
	case last > e.fenceEnd:
		e.fence, e.fenceEnd = max(e.fence, fence-1), last
	}
}

// RenewFences makes fences of the clock greater than those from before now: the run
// was reset, and has forgotten which it gave.
func (e *Engine) RenewFences(now time.Time) {
	if e.fenceEnd == 0 {
		e.fence = max(e.fence, now.UnixMilli()<<20)
	}
}
