package group

import (
	"time"

	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/chunks"
	"github.com/roundsman/roundsman/internal/engine/run/group/halt"
)

// ChunkAnswered passes an answer to a command of package chunks.
type ChunkAnswered struct{ chunks.Event }

func (v ChunkAnswered) apply(g *Group, now time.Time) {
	result := g.chunks.Apply(v.Event, g.turn.Number, now)
	g.takeClaims(result, now)
	if r := result.Refused; r != nil {
		g.halt.Cause = halt.None // A group that leaves does not come back.
		g.stop(halt.Window, reason{Code: r.Code, Detail: explain.TextClaimsRefused(r.Reason)}, now)
	}
}

// claimMore takes the next step of the claims, or repeats one that admission had no room for.
func (g *search) claimMore(now time.Time) {
	switch late := g.detect.Late; {
	case g.leavesAfterClaim():
		g.do(g.chunks.More(g.turn.Number, now))
	case g.paused() || g.halt.On():
	case g.claiming() && g.turn.Full.Again(now):
		claim := ClaimKeys{Turn: g.turn.Number}
		if late.Claiming {
			claim.Late = late.Claims
		}
		g.do(claim)
	case g.phase == PhaseRunning && g.begun && !g.halt.Away && g.cfg.Claims:
		g.jobs.Backlog.Running(g.engine.InFlight())
		g.do(g.chunks.More(g.turn.Number, now))
	}
}

// leavesAfterClaim reports whether a group that leaves has a chunk without an answer. Its keys belong to this turn.
func (g *work) leavesAfterClaim() bool { return g.halt.Leaving && len(g.chunks.Jobs) > 0 }

func (g *work) takeClaims(r chunks.Result, now time.Time) {
	if r.Fences > 0 {
		g.engine.SetFences(r.Fence, r.Fences)
	}
	for _, c := range r.Do {
		g.do(c)
	}
	g.offer(r.Begin, now)
	g.offer(r.Lost, now)
	for _, j := range r.Lost {
		g.engine.End(now, j.N, run.Failed, explain.TextPageLost)
	}
	for _, one := range r.Ended {
		one.End(StateNotStarted, now, reason{Code: one.Code, Detail: one.Detail}.String())
		one.Count(&g.tally.Counts)
		g.jobs.Close(one.Job)
	}
	for _, note := range r.Notes() {
		g.engine.Note(note)
	}
	if r.Taken { // The rest of the backlog is left to the other group.
		why := backlogTaken(g.chunks.TakenBy, g.cfg.JobType)
		g.note(run.Rejected, why.Code, why.Detail, 0)
		n := g.jobs.Backlog.Keyed()
		g.tally.Counts.Accepted -= n
		g.tally.Counts.AlreadyActive += n
		g.jobs.EndBacklog(true, StateNotStarted, why.String(), g.clock.StartedAt, now)
	}
}

// ChunkHashes are the keys of the open jobs of a chunk.
func (g *work) ChunkHashes(seq int) []uint64 { return g.chunks.Hashes(seq) }
