package group

import (
	"fmt"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/chunks"
	"github.com/roundsman/roundsman/internal/engine/run/group/halt"
	"github.com/roundsman/roundsman/internal/engine/run/group/tally"
)

// HeldBack is a proposal that was left out because its key is disabled.
type HeldBack = tally.HeldBack

// Claim is a key that the group claims or has claimed, and the number of its job. Key is empty if only the hash is known.
type Claim struct {
	Job  int
	Key  string
	Hash uint64
}

// Claims lists the claims that are not those of chunks. Late: only those of late detections.
func (g *work) Claims(late bool) (claims []Claim) {
	for _, j := range g.jobs.Sorted() {
		if j.Late != late || j.Claiming || j.Chunk > 0 {
			continue
		}
		if j.Hash != 0 {
			claims = append(claims, Claim{Job: j.N, Hash: j.Hash})
		}
		for _, key := range j.Keys() {
			claims = append(claims, Claim{Job: j.N, Key: key, Hash: contract.DedupeHash(g.cfg.JobType, key)})
		}
	}
	return claims
}

// claiming reports whether a group waits for the keys of all its jobs, or of all late ones.
func (g *search) claiming() bool { return g.phase == PhaseClaiming || g.detect.Late.Claiming }

func (v KeysClaimed) apply(g *Group, now time.Time) {
	if !g.claiming() {
		return
	}
	g.turn.Full = chunks.Backoff{}
	g.engine.SetFences(v.Fence, v.Fences)
	if g.detect.Late.Claiming {
		g.beginLate(g.dropClaimed(v, g.lateJobs()), now)
		return
	}
	if g.begun {
		g.endElsewhere(v, now)
	} else {
		g.jobs.Replace(g.dropClaimed(v, g.jobs.Sorted()))
	}
	g.resume(now)
}

// dropClaimed counts proposals whose key another group holds or the retry budget
// disables, and returns the others.
func (g *work) dropClaimed(v KeysClaimed, list []*job) (rest []*job) {
	active, disabled := map[int]bool{}, map[int]bool{}
	for _, a := range v.Active {
		if j := g.jobs.Open.Get(a.Job); j != nil && !active[a.Job] {
			active[a.Job] = true
			g.noteActive(a)
		}
	}
	for _, h := range v.HeldBack {
		if j := g.jobs.Open.Get(h.Job); j != nil && !active[h.Job] && !disabled[h.Job] {
			disabled[h.Job] = true
			g.noteHeldBack(h)
		}
	}
	for _, j := range list {
		if !active[j.N] && !disabled[j.N] {
			rest = append(rest, j)
		}
	}
	g.tally.Counts.Disabled += len(disabled)
	g.tally.Counts.AlreadyActive += len(active)
	g.tally.Counts.Accepted -= len(list) - len(rest)
	return rest
}

func (g *work) noteActive(a Active) {
	g.tally.Active(a.Key, a.By)
	why := activeIn(a)
	g.note(run.Rejected, why.Code, why.Detail, 0)
}

func (g *work) noteHeldBack(h HeldBack) {
	g.tally.Hold(h, 1)
	g.note(run.Rejected, contract.Code(h.Code), fmt.Sprintf("key %q: %s", h.Key, h.Detail), 0)
}

// endElsewhere ends jobs that other groups have taken while this one was away. Their
// numbers are known outside by now, so they end instead of disappearing.
func (g *course) endElsewhere(v KeysClaimed, now time.Time) {
	for _, a := range v.Active {
		if a.Key != "" {
			g.tally.Active(a.Key, a.By)
		}
		g.skipDuplicate(a.Job, a.Key, activeIn(a).String(), &g.tally.Counts.AlreadyActive, now)
	}
	for _, h := range v.HeldBack {
		before := g.tally.Counts.Disabled
		g.skipDuplicate(h.Job, h.Key, h.Reason(0).String(), &g.tally.Counts.Disabled, now)
		g.tally.Hold(h, g.tally.Counts.Disabled-before)
	}
}

// skipDuplicate takes a key out of a batch, or ends its job.
func (g *course) skipDuplicate(n int, key, reason string, count *int, now time.Time) {
	j := g.jobs.Open.Get(n)
	switch {
	case j == nil:
	case len(j.Items) > 1:
		j.DropItem(key)
		g.tally.Counts.Batched--
		*count++
		g.engine.Note(run.Note{Verdict: run.Rejected, Code: contract.CodeDeduped, Item: n, Detail: reason})
	default:
		g.tally.Elsewhere++
		g.engine.End(now, n, run.NotStarted, reason)
		g.settle(now)
	}
}

func (v ClaimsRefused) apply(g *Group, now time.Time) {
	why := reason{Code: v.Code, Detail: explain.TextClaimsRefused(v.Reason)}
	switch {
	case !g.claiming():
		return
	case v.Code == contract.RefusedFull: // An empty admission has room for any group.
		g.turn.Full.Later(v.Reason, now)
		return
	case g.detect.Late.Claiming:
		g.endLate(run.NotStarted, why, now)
		return
	}
	if g.begun {
		g.phase = PhaseRunning
		g.stop(halt.Window, why, now)
		return
	}
	g.giveUp(contract.OutcomeFailed, why, now) // Its findings count as not started.
}

func (v KeyStopped) apply(g *Group, now time.Time) {
	if !g.forJobs() {
		return
	}
	for _, j := range g.jobs.Named(0, g.cfg.JobType, v.DedupeKey) {
		view, known := g.engine.View(j.N)
		waits := known && view.Phase != run.PhaseRunning && view.Phase != run.PhaseGrace
		if waits && v.Done && len(j.Items) > 1 {
			j.DropItem(v.DedupeKey)
			g.noteDropped(v.DedupeKey, now)
			g.tally.Counts.Batched--
			g.tally.Counts.Disabled++
			continue
		}
		g.engine.Bar(now, j.N, v.Reason, v.Done)
	}
}

func (v TypeStopped) apply(g *Group, now time.Time) {
	why := reason{Code: v.Code, Detail: v.Reason}
	g.note(run.Terminated, contract.CodeStopped, why.String(), 0)
	g.stop(halt.Budget, why, now)
}
