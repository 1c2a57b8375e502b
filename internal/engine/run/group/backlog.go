package group

import (
	"fmt"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/backlog"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/tally"
	"github.com/roundsman/roundsman/jobtype"
)

// refillStep bounds the jobs that one event brings into the window: a workflow task must not last.
const refillStep = 4096

// filling is the way of the backlog into the window: the jobs that the last event has brought into it, and those in
// it that do not fit and are not of pages.
type filling struct{ jobs, unfit int }

// checkPaged refuses a page with proposals that must be in the group.
func (g *work) checkPaged(page Page) error {
	if g.begun || g.cfg.DetectEvery || g.cfg.BatchSize > 0 || g.cfg.DryRun || len(page.Proposals) > 0 {
		return fmt.Errorf("page %d of detection %d: its proposals must be part of it", page.Seq, page.Attempt)
	}
	return backlog.Check(*page.Paged)
}

// takePaged takes a page of proposals that are stored apart.
func (g *work) takePaged(s *session, p contract.ProposalPage, answer *PageAnswer, now time.Time) {
	room := g.jobs.Backlog.Room(p)
	n := min(room, max(g.cfg.Policy.MaxJobsPerDetection-g.jobs.Left(), 0))
	g.jobs.Backlog.Add(p, n, now)
	answer.Accepted, answer.Surplus, answer.Full = n, p.Count-n, room < p.Count || g.jobs.Backlog.Full()
	g.tally.Find(&s.Tally, tally.Found{Accepted: n, Surplus: p.Count - n})
	g.engine.Changed(now)
}

// refill brings jobs of the backlog into the window. more reports whether something has changed.
func (g *work) refill(now time.Time) (more bool) {
	if !g.begun || g.jobs.Backlog.Len() == 0 || g.halt.On() && !g.halt.Leaving {
		return false
	}
	for g.filled.jobs < refillStep {
		next, ok := g.jobs.Backlog.Next(false)
		if !ok && !g.cfg.Claims {
			next, ok = g.jobs.Backlog.Next(true)
		}
		if !ok {
			full := g.jobs.Backlog.Len() > 0 && !g.jobs.Backlog.Due(contract.MaxChunk)
			return full && g.endUnfit(now) || more
		}
		g.filled.jobs, more = g.filled.jobs+1, true
		g.open(next)
	}
	return more
}

// endUnfit ends the jobs of the window that do not end before the closing: they keep out others,
// which may be shorter.
func (g *work) endUnfit(now time.Time) bool {
	late, ended := g.engine.Late(), 0
	if late > g.filled.unfit {
		for _, j := range g.jobs.Sorted() {
			if view, _ := g.engine.View(j.N); j.Ref != nil && view.Phase == run.PhaseLate {
				g.engine.End(now, j.N, run.NotStarted, g.unfitText(j))
				ended++
			}
		}
	}
	g.filled.unfit = late - ended
	return ended > 0
}

// misfits counts the jobs that do not fit into the window. Before the end of a detected group,
// only such jobs are not started.
func (g *work) misfits() int {
	if g.cfg.Submitted {
		return g.engine.Late()
	}
	return g.engine.Late() + g.tally.Counts.NotStarted
}

// open makes a job of the backlog one that may start. It has waited since the group began.
func (g *work) open(next backlog.Job) {
	j := g.jobs.Paged(next)
	g.jobs.Open.Put(j)
	g.engine.Offer(g.clock.TurnAt, g.cfg.item(j))
}

// reach opens a job of the backlog that an operator names.
func (g *work) reach(number int) {
	if !g.forJobs() {
		return
	}
	if next, ok := g.jobs.Backlog.Enter(number); ok {
		g.open(next)
	}
}

// refillAt is when more jobs are to be brought into the window though nothing happens; zero: never.
func (g *work) refillAt() time.Time {
	if g.filled.jobs < refillStep || g.phase != PhaseRunning {
		return time.Time{}
	}
	return g.clock.LastTick
}

// endBacklog ends the jobs that have not come into the window.
func (g *work) endBacklog(state State, why string, now time.Time) {
	g.tally.Ended(state, g.jobs.Backlog.Len())
	g.jobs.EndBacklog(false, state, why, g.clock.StartedAt, now)
}

// backlogWait explains the wait of the jobs that are not open.
func backlogWait(jobType string, open int, since time.Time) run.Wait {
	return run.Wait{Code: contract.CodeBacklog, Object: jobType, Since: since, Detail: explain.TextBacklog(open)}
}

// numbered reports whether the jobs of the backlog have their numbers.
func (g *base) numbered() bool { return g.begun || g.phase == PhaseEnded }

// chosenBacklog returns the jobs of the backlog that the filter chooses. It adds their pages to the answer.
func (g *views) chosenBacklog(in contract.JobsQueryInput, number int, result *contract.JobsQueryResult) (chosen []jobs) {
	if !g.numbered() {
		return nil
	}
	result.Proposals = g.jobs.Backlog.Table()
	switch {
	case in.DedupeKey != "" || in.Worker != "" || len(in.States) > 0 && !slices.Contains(in.States, contract.JobPending):
	case number == 0:
		for _, r := range g.jobs.Backlog.Numbers() {
			chosen = append(chosen, jobs{first: r.First, last: r.Last})
		}
	case g.jobs.Backlog.Has(number):
		chosen = []jobs{{first: number, last: number}}
	}
	return chosen
}

func (g *views) backlogJob(number int) *job {
	list, _ := g.jobs.Backlog.List(number, 0, 1)
	j := &job{N: number, CreatedAt: list[0].At}
	j.Proposal.Priority, j.Proposal.EstimatedRuntime = list[0].Class.Priority, jobtype.Duration(list[0].Estimate)
	return j
}
