package run

import (
	"time"

	"github.com/roundsman/roundsman/internal/engine/explain"

	"github.com/roundsman/roundsman/contract"
)

func (e *course) acquire(it *item, now time.Time) {
	e.dequeue(it)
	e.asks++
	it.Ask = e.asks // An answer to an earlier item of that id does not count.
	it.Phase, it.Asking, it.WaitsAt = PhaseAsking, true, now
	e.gate.Add(it.ID, it)
	needs := it.Needs // The decision may be carried out after the item has settled.
	e.decide(Decision{Kind: Acquire, Item: it.ID, Ask: it.Ask, Needs: &needs})
}

// The caller of release removes the item from its class first.
func (e *course) release(it *item) {
	if !it.Granted && !it.Asking {
		return
	}
	e.decide(Decision{Kind: Release, Item: it.ID, Ask: it.Ask})
	it.Granted, it.Asking, it.Fence, it.FenceEnd = false, false, 0, 0
	e.unwait(it)
	e.gate.Remove(it.ID)
}

func (e *ledger) askingFor(id, ask int) *item {
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
	if e.limit > 0 && e.atGate() > e.limit { // It would keep resources idle that others wait for.
		e.release(it)
	}
	e.push(it, now)
}

// Proceed starts an item that has its resources, see [Config.Admit].
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
		e.Note(Note{Verdict: Terminated, Code: contract.CodeGrantLost, Item: it.ID, Detail: v.Reason})
		e.cancel(it, explain.TextRevoked+v.Reason, now)
	}
}

func (v Renewed) apply(e *Engine, _ time.Time) {
	if it := e.items[v.Item]; it != nil && it.Granted && it.Ask == v.Ask {
		it.Fence, it.FenceEnd = v.Fence-1, v.Fence+v.Fences-1
	}
}

func (v FencesGranted) apply(e *Engine, _ time.Time) { e.SetFences(v.Fence, v.Fences) }

func (e *fences) hasFence(it *item) bool {
	if e.fenceEnd == 0 || e.fence < e.fenceEnd || it.Granted {
		return true
	}
	if !e.wantsFences {
		e.wantsFences = true
		e.decide(Decision{Kind: MoreFences})
	}
	return false
}

// nextFence returns a fence above all earlier ones of the same key or object.
func (e *fences) nextFence(it *item) int64 {
	if it.Granted {
		it.Fence++
		return it.Fence
	}
	e.fence++
	e.fenced = true
	return e.fence
}

// releaseIfContended releases the grants of an item for which no worker has room: others can use them meanwhile.
func (e *course) releaseIfContended(it *item, c *class) {
	if it.Granted && (len(c.workers) == 0 || c.workers[0].tier != tierFree) {
		e.release(it)
	}
}

// SetFences gives the run another range, above the previous ones. An empty one changes nothing.
func (e *fences) SetFences(fence, n int64) {
	e.wantsFences = false
	last := fence + n - 1
	switch {
	case n <= 0:
	case e.fenceEnd == 0 && !e.fenced: // No fence of the clock was used.
		e.fence, e.fenceEnd = fence-1, last
	case e.fenceEnd == 0 && last <= e.fence: // Fences of the clock are greater, and have no end.
	case last > e.fenceEnd:
		e.fence, e.fenceEnd = max(e.fence, fence-1), last
	}
}

// RenewFences raises fences of the clock: a reset run has forgotten the ones it used.
func (e *fences) RenewFences(now time.Time) {
	if e.fenceEnd == 0 {
		e.fence = max(e.fence, now.UnixMilli()<<20)
	}
}
