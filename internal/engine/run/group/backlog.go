package group

import (
	"fmt"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/backlog"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/record"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/proposed"
	"github.com/roundsman/roundsman/jobtype"
)

// refillStep bounds the jobs that one event brings into the window: a workflow task must not last.
const refillStep = 4096

// left counts the jobs that have not ended.
func (js *jobs) left() int { return js.open.Len() + js.backlog.Len() }

// checkPaged refuses a page whose proposals the group would have to know.
func (g *Group) checkPaged(page Page) error {
	if g.begun || g.cfg.DetectEvery || g.cfg.BatchSize > 0 || g.cfg.DryRun || len(page.Proposals) > 0 {
		return fmt.Errorf("page %d of detection %d: its proposals must be part of it", page.Seq, page.Attempt)
	}
	return backlog.Check(*page.Paged)
}

// takePaged takes a page of proposals that are stored apart.
func (g *Group) takePaged(s *session, p contract.ProposalPage, answer *PageAnswer, now time.Time) {
	room := g.jobs.backlog.Room(p)
	n := min(room, max(g.cfg.Policy.MaxJobsPerDetection-g.jobs.left(), 0))
	g.jobs.backlog.Add(p, n, now)
	answer.Accepted, answer.Surplus, answer.Full = n, p.Count-n, room < p.Count || g.jobs.backlog.Full()
	s.Tally.Accepted += n
	s.Tally.Surplus += p.Count - n
	g.counts.Accepted += n
	g.counts.Surplus += p.Count - n
	g.engine.Changed(now)
}

// refill brings jobs of the backlog into the window. more reports whether something has changed.
func (g *Group) refill(now time.Time) (more bool) {
	if !g.begun || g.jobs.backlog.Len() == 0 || g.stopping != stopNone && !g.leaving {
		return false
	}
	for g.refilled < refillStep {
		next, ok := g.jobs.backlog.Next()
		if !ok {
			return g.jobs.backlog.Len() > 0 && g.endUnfit(now) || more
		}
		g.refilled, more = g.refilled+1, true
		g.open(next)
	}
	return more
}

// endUnfit ends the jobs of the window that do not end before the closing: they keep out others,
// which may be shorter.
func (g *Group) endUnfit(now time.Time) bool {
	late, ended := g.engine.Late(), 0
	if late > g.unfit {
		for _, j := range g.jobs.sorted() {
			if view, _ := g.engine.View(j.N); j.Ref != nil && view.Phase == run.PhaseLate {
				g.engine.End(now, j.N, run.NotStarted, g.unfitText(j))
				ended++
			}
		}
	}
	g.unfit = late - ended
	return ended > 0
}

// misfits counts the jobs that do not fit into the window. Before the end of a detected group,
// only such jobs are not started.
func (g *Group) misfits() int {
	if g.cfg.Submitted {
		return g.engine.Late()
	}
	return g.engine.Late() + g.counts.NotStarted
}

// open makes a job of the backlog one that may start. It has waited since the group began.
func (g *Group) open(next backlog.Job) {
	class := next.Class
	j := &job{
		N: next.Number, Queue: next.Queue, Ref: &next.ProposalRef, CreatedAt: next.At,
		Work: proposed.Work{Proposal: jobtype.Proposal{
			Priority: class.Priority, Node: class.Node, Labels: class.Labels, EstimatedRuntime: jobtype.Duration(next.Estimate), Resources: g.cfg.Resources,
		}},
	}
	g.jobs.open.Put(j)
	g.engine.Offer(g.turnAt, g.item(j))
}

// reach opens a job of the backlog that an operator names.
func (g *Group) reach(number int) {
	if !g.forJobs() {
		return
	}
	if next, ok := g.jobs.backlog.Enter(number); ok {
		g.open(next)
	}
}

// refillAt is when more jobs are to be brought into the window though nothing happens; zero: never.
func (g *Group) refillAt() time.Time {
	if g.refilled < refillStep || g.phase != PhaseRunning {
		return time.Time{}
	}
	return g.lastTick
}

// endBacklog ends the jobs that have not come into the window.
func (g *Group) endBacklog(state State, why string, now time.Time) {
	js, count := &g.jobs, &g.counts.NotStarted
	switch state { //nolint:exhaustive // it ends in no other
	case StateCanceled:
		count = &g.counts.Canceled
	case StateFailed:
		count = &g.counts.Failed
	}
	*count += js.backlog.Len()
	for _, r := range js.backlog.Numbers() {
		js.record.Add(record.Job{N: r.First, More: r.Last - r.First, State: string(state), Error: why, EndedAt: now, CreatedAt: g.startedAt})
	}
	js.backlog.Drop()
}

// saved splits the open jobs for a snapshot: those to which nothing has happened return to the
// backlog.
func (g *Group) saved(engine run.Snapshot) (open []*job, rest *backlog.Saved) {
	travel := map[int]bool{}
	for _, it := range engine.Items {
		travel[it.ID] = true
	}
	var back []backlog.Job
	open = slices.DeleteFunc(g.jobs.sorted(), func(j *job) bool {
		if j.Ref == nil || travel[j.N] {
			return false
		}
		back = append(back, backlog.Job{Number: j.N, Queue: j.Queue})
		return true
	})
	return open, g.jobs.backlog.Save(back)
}

// backlogWait explains the wait of the jobs that are not open.
func (g *Group) backlogWait(since time.Time) run.Wait {
	return run.Wait{Code: contract.CodeBacklog, Object: g.cfg.JobType, Since: since, Detail: explain.TextBacklog(g.jobs.open.Len())}
}

// numbered reports whether the jobs of the backlog have their numbers.
func (g *Group) numbered() bool { return g.begun || g.phase == PhaseEnded }

// mapBacklog adds the jobs of the backlog to a map.
func (g *Group) mapBacklog(result *contract.JobsQueryResult) {
	if !g.numbered() {
		return
	}
	for _, r := range g.jobs.backlog.Numbers() {
		result.Map = contract.MarkJobs(result.Map, r.First, r.Last, contract.JobPending)
	}
	result.Total += g.jobs.backlog.Len()
}

// listBacklog adds the jobs of the backlog to an answer.
func (g *Group) listBacklog(in contract.JobsQueryInput, number, limit int, now time.Time, result *contract.JobsQueryResult) {
	if !g.numbered() {
		return
	}
	result.Proposals = g.jobs.backlog.Table()
	if in.DedupeKey != "" || in.Worker != "" || len(in.States) > 0 && !slices.Contains(in.States, contract.JobPending) {
		return
	}
	list, total := g.jobs.backlog.List(number, max(in.Offset-result.Total, 0), limit-len(result.Jobs))
	result.Total += total
	for _, next := range list {
		j := &job{N: next.Number, CreatedAt: next.At}
		j.Proposal.Priority, j.Proposal.EstimatedRuntime = next.Class.Priority, jobtype.Duration(next.Estimate)
		result.Jobs = append(result.Jobs, g.viewOf(j, now))
	}
}
