package group

import (
	"time"

	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/endings"
)

// noteFailure records an attempt that its handler failed.
func (g *work) noteFailure(j *job, report *run.Report, now time.Time) {
	if g.cfg.Budget {
		g.endings.Failed(endings.FailedAttempt{Job: j.N, Attempt: report.Attempt, Keys: j.Keys(), At: now, Message: report.Message})
	}
}

// noteEnding records that a job has ended for good.
func (g *work) noteEnding(j *job, now time.Time) {
	if g.cfg.Claims {
		g.endings.Ended(j.Keys(), j.Hash, j.State.Done(), now)
	}
}

// noteDropped records that a key's item left its batch.
func (g *work) noteDropped(key string, now time.Time) {
	if g.cfg.Claims {
		g.endings.Dropped(key, now)
	}
}

// report reports the endings that are due. The last ones are part of the group's end, see [Group.TakeEndings].
func (g *work) report(now time.Time) {
	if g.phase != PhaseEnded && (g.endings.Due(now) || g.engine.ShouldContinueAsNew() && g.endings.Heavy()) {
		g.do(ReportEndings{g.TakeEndings(now)})
	}
}

// TakeEndings returns the endings without a report.
func (g *work) TakeEndings(now time.Time) endings.Endings { return g.endings.Take(now) }
