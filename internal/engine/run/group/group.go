package group

import (
	"cmp"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/after"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/chunks"
	"github.com/roundsman/roundsman/internal/engine/run/group/clock"
	"github.com/roundsman/roundsman/internal/engine/run/group/openjobs"
	"github.com/roundsman/roundsman/internal/engine/run/group/tally"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/internal/engine/values"
	"github.com/roundsman/roundsman/jobtype"
)

// Group is the state of one job group. Create it with [New] or [Restore]; it is
// not safe for concurrent use. Its parts are in parts.go.
type Group struct{ views }

// New returns a group that was created at now. Its first event is [Submitted] or
// [run.Tick].
func New(cfg Config, now time.Time) *Group {
	g := &Group{}
	g.cfg, g.engine, g.phase, g.clock = cfg, run.New(cfg.engine(), now), PhasePreparing, clock.New(now)
	g.tally, g.jobs = tally.New(), openjobs.New(cfg.window(), cfg.Resources)
	g.chunks = chunks.New(&g.jobs, chunks.Claimer{})
	g.detect.Avoid = cfg.AvoidDetector
	g.carried.Inherit(cfg.Carried, now)
	g.after, g.cfg.Carried = after.New(cfg.After, now, cfg.Due, g.cfg.maxWait()), nil
	return g
}

// Policy returns the policy in force.
func (g *base) Policy() jobtype.Policy { return g.cfg.Policy }

// Phase returns where the group is.
func (g *base) Phase() Phase { return g.phase }

// Counts returns the figures so far.
func (g *work) Counts() contract.GroupCounts { return g.tally.Counts }

// Engine returns the engine of the group, which has its pause, fleet, history and notes.
func (g *base) Engine() *run.Engine { return g.engine }

// Next takes one event and returns its commands, in order. The slice is valid until the next call. After [End] was
// returned, Next returns nothing.
func (g *Group) Next(now time.Time, event source.Event) []source.Command {
	g.out = g.out[:0]
	if g.phase == PhaseEnded {
		return nil
	}
	g.filled.jobs = 0
	g.apply(now, event)
	g.fireTimers(now)
	g.settle(now)
	g.advance(now)
	g.report(now)
	g.storeRecord(now)
	g.enterPhase(now)
	return g.out
}

// advance takes every step that has become possible.
func (g *Group) advance(now time.Time) {
	if g.turn.active() {
		g.advanceTurn(now)
	}
	if g.phase == PhaseDetecting {
		g.advanceDetection(now)
	}
	g.settle(now)
	if g.phase == PhaseClaiming {
		g.claimMore(now)
	}
	if g.phase == PhaseRunning {
		for g.refill(now) {
			g.settle(now)
		}
		g.claimMore(now)
		g.detectLate(now)
		g.endIfNothingFits(now)
		g.leave(now)
		g.leaveUnplaced(now)
		g.settle(now)
		g.shareLane(now)
		g.settle(now)
	}
	if g.phase == PhaseRunning || g.begun && (g.halt.Away || g.phase == PhaseClaiming) {
		g.endIfDone(now)
	}
}

// settle applies the engine's reports until none follows.
func (g *course) settle(now time.Time) {
	for {
		decisions, reports := g.engine.Take(now)
		for i := range decisions {
			g.command(&decisions[i])
		}
		retried, replaced := g.engine.Again()
		g.tally.Counts.Retries += retried
		g.tally.Counts.Replacements += replaced
		for i := range reports {
			g.take(&reports[i], now)
		}
		if len(reports) == 0 {
			return
		}
	}
}

// command passes a decision of the engine, with the data of its job.
func (g *work) command(d *run.Decision) {
	switch d.Kind { //nolint:exhaustive // the others go as they are
	case run.Start:
		if j := g.jobs.Open.Get(d.Item); j != nil {
			j.StartedAt = d.At
			g.do(StartJob{Decision: *d, Proposal: &j.Proposal, Ref: j.Ref, Batch: g.cfg.batchOf(j)})
		}
	case run.Acquire:
		if j := g.jobs.Open.Get(d.Item); j != nil {
			g.do(source.Acquire{Decision: *d, Priority: j.Proposal.Priority})
		}
	default:
		g.do(*d)
	}
}

// do adds a command, unless it is nil.
func (g *base) do(c source.Command) {
	if c != nil {
		g.out = append(g.out, c)
	}
}

// take counts a report about a job.
func (g *course) take(r *run.Report, now time.Time) {
	j := g.jobs.Open.Get(r.Item)
	if j == nil {
		return
	}
	switch r.Kind {
	case run.AttemptFailed:
		g.noteFailure(j, r, now)
	case run.Settled:
		g.finish(j, r, now)
		if r.Ending.Failure == contract.FailureWorkerLost {
			g.lostWorker(j, r, now)
		}
	case run.Admitted, run.Crowded, run.Deferred, run.Due:
	}
}

// finish moves a job into its final state and counts it there.
func (g *work) finish(j *job, r *run.Report, now time.Time) {
	if j.Counted {
		return
	}
	j.Attempt, j.Worker, j.EndedAt, j.Error = r.Attempt, r.Worker, now, r.Message
	if !r.StartedAt.IsZero() {
		j.StartedAt = r.StartedAt
	}
	j.State = openjobs.StateOf(r.State, r.Ending.Warning != "")
	j.Checkpoint, j.Done = r.Checkpoint, r.Done
	g.carryOver(j, r, now)
	g.tally.Ended(j.State, 1)
	if r.State == run.Completed {
		j.Left = g.tally.Values.Take(j.FirstKey(), r.Ending.Result)
		g.tally.Worked(j.Worker)
		if !r.Resumed {
			g.tally.Learn(cmp.Or(r.Ending.Duration, now.Sub(j.StartedAt)))
		}
	}
	g.noteEnding(j, now)
	g.jobs.Close(j)
	g.do(g.chunks.Left(j, g.turn.Number))
}

// Took lists how long the last completed attempts took, oldest first.
func (g *work) Took() []time.Duration { return g.tally.Took }

// Values are the numbers that jobs returned.
func (g *work) Values() values.Run { return g.tally.Values }

// ShouldContinueAsNew reports whether this is a moment to continue as new: nothing is in flight, and no answer is due
// that only this workflow run would receive.
func (g *course) ShouldContinueAsNew() bool {
	due := g.engine.ShouldContinueAsNew() || (g.phase == PhaseDetecting || g.mayDetectLate() && g.engine.Busy() == 0) && g.pagesSpent()
	return due && g.phase != PhaseEnded && !g.detect.running() && !g.window.Asking && !g.after.Looking && !g.turn.preparing && !g.jobs.Record.Storing() && !g.chunks.Busy()
}

func (g *base) note(verdict run.Verdict, code contract.Code, detail string, waited time.Duration) {
	g.engine.Note(run.Note{Verdict: verdict, Code: code, Item: run.WholeRun, Detail: detail, Waited: waited})
}

// noteWait notes a delay of the group that is over, if it was noticeable.
func (g *base) noteWait(code contract.Code, detail string, since, now time.Time) {
	if waited := now.Sub(since); !since.IsZero() && waited >= run.Noticeable {
		g.note(run.Delayed, code, detail, waited)
	}
}
