package group

import (
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/instant"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/proposed"
	"github.com/roundsman/roundsman/internal/engine/run/group/targets"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/jobtype"
)

// A group for every worker detects on each worker that could serve it, or has one job
// for each. Those that it cannot reach are missed: they keep the group from being
// completed, and the others' jobs are done.

const (
	// maxDetections bounds the detections at once: their results stay far below the limit of a history.
	maxDetections = 50
	// maxTargetLosses is how often a detection that was lost with its worker is
	// repeated there.
	maxTargetLosses = 3
	// maxRunPages is how many pages one workflow run takes: the server allows 2,000
	// Updates, and a page may be sent twice.
	maxRunPages = 1000
	// maxUpdates is when a group is full because of that: the detection ends with the rest as surplus.
	maxUpdates = 1900
	// maxSpentPages is how many pages of failed attempts leave room for those of another one.
	maxSpentPages = 50
)

func (g *search) target(id string) *targets.Target { return g.detect.Targets.Get(id) }

// spreads reports whether the group is for every worker.
func (c Config) spreads() bool { return c.DetectEvery || c.EachWorker }

// candidates are the workers that the group is for, well or not.
func (g *base) candidates() []run.Candidate {
	return g.engine.Candidates(theWork, g.cfg.DetectEvery, g.cfg.Labels)
}

// reachable reports whether one of them can serve now. A registry that was just rebuilt lists only some of them.
func (g *base) reachable() bool {
	return !g.engine.Incomplete() && slices.ContainsFunc(g.candidates(), func(w run.Candidate) bool { return w.Usable })
}

// proposeEach proposes one job for each worker that is ONLINE.
func (g *search) proposeEach(now time.Time) {
	for _, w := range g.candidates() {
		t := g.target(w.ID)
		if !w.Online {
			t.Miss(w.Code, w.Reason)
			continue
		}
		var answer PageAnswer
		g.takeProposal(nil, jobtype.Proposal{DedupeKey: w.ID, Summary: g.cfg.JobType + " on " + w.ID, Node: w.ID}, "", &answer, now)
		g.tally.Counts.Detected++
		if t.Done = answer.Accepted == 1; !t.Done {
			t.Miss(contract.CodeSurplus, explain.TextFull(g.cfg.Policy.MaxJobsPerDetection))
		}
	}
	g.countTargets(true)
}

// detectOnEvery starts detections, and continues once no worker is left that can detect now or
// is busy. The others may still detect while the run lasts.
func (g *search) detectOnEvery(now time.Time) {
	d := &g.detect
	if d.Since.IsZero() {
		d.Since = now
	}
	rolls, waits, _ := g.detectWhereDue(now)
	if len(d.Open) > 0 || waits && (rolls || now.Before(g.patience())) {
		g.engine.Watch()
		return
	}
	g.countTargets(false)
	g.jobs.Replace(g.jobs.Sorted())
	g.detected(now)
}

// detectWhereDue starts the detections that are due. Waits: some are due soon. Rolls: they begin
// in the next workflow run. Cool is the end of the first cool-down of a worker.
func (g *search) detectWhereDue(now time.Time) (rolls, waits bool, cool time.Time) {
	d := &g.detect
	rolls = g.pagesSpent() || g.engine.Rolling()
	waits = g.engine.Incomplete()
	for _, w := range g.candidates() {
		t := g.target(w.ID)
		t.Awaited = t.Awaited || w.Online || w.Code == contract.CodeUnreachable && !w.Offline
		switch {
		case t.Over() || g.detecting(w.ID):
		case !w.Usable:
			t.Code, t.Detail = w.Code, w.Reason
		case w.CoolUntil.After(now) || t.BusyTill.After(now):
			waits = true
			if w.CoolUntil.After(now) {
				cool = instant.Earlier(cool, w.CoolUntil)
			}
		case g.full():
			t.Miss(contract.CodeSurplus, explain.TextFull(g.cfg.Policy.MaxJobsPerDetection))
			g.tally.Counts.DetectedMore = true
		case len(d.Open) >= maxDetections || rolls:
			waits = true
		default:
			t.Attempts++
			g.startDetection(w.ID, w.Instance, now)
		}
	}
	return rolls, waits, cool
}

// pagesSpent reports whether the next detection begins in the next workflow run.
func (g *search) pagesSpent() bool {
	return g.detect.pages >= maxRunPages || !g.cfg.DetectEvery && g.detect.pages > maxSpentPages
}

// patience is how long workers are waited for that may become able to detect.
func (g *search) patience() time.Time { return g.detect.Since.Add(g.cfg.Policy.DetectionTimeout.Std()) }

func (g *search) detecting(worker string) bool {
	return slices.ContainsFunc(g.detect.Open, func(s *session) bool { return s.Worker == worker })
}

// targetDetected counts the end of a detection on one worker. Proposals that an attempt that
// failed had sent are dropped.
func (g *search) targetDetected(s *session, v DetectionEnded, lost bool, now time.Time) {
	t := g.target(s.Worker)
	if v.Failure == contract.FailureNone && !lost {
		t.Done, g.detect.Since = true, instant.Later(g.detect.Since, now)
		g.detect.explain(v.Explanations, s.Worker+": ")
		g.engine.Started(s.Worker, s.Instance)
		g.countDetected(v)
		if g.begun {
			g.recount()
		}
		return
	}
	g.drop(s)
	g.noteDetection(v)
	switch v.Failure { //nolint:exhaustive // every other one is the handler's
	case contract.FailureAtCapacity:
		t.Later(contract.CodeSlots, explain.TextNoDetectSlot, now.Add(detectPause(t.Refusals)))
		return
	case contract.FailureNotTaken:
		t.Later(contract.CodeSlots, clip(v.Message), now.Add(detectPause(t.Refusals)))
		return
	case contract.FailureDraining:
		g.engine.Cool(now, s.Worker, s.Instance, run.DrainCoolDown)
		t.Code, t.Detail = contract.CodeDraining, clip(v.Message)
		return
	case contract.FailureCannotStart:
		g.engine.CannotStart(now, s.Worker, s.Instance, run.Ending{Failure: v.Failure, Message: v.Message})
		t.Later(contract.CodeCannotStart, clip(v.Message), now.Add(detectPause(t.Refusals)))
		return
	case contract.FailureNotInstalled:
		t.Miss(contract.CodeNotInstalled, clip(v.Message))
	case contract.FailureUnsupported:
		g.engine.Exclude(now, s.Worker, s.Instance, g.cfg.Handler)
		t.Miss(contract.CodeUnsupported, clip(v.Message))
	case contract.FailureWorkerLost:
		t.Losses++
		t.Code, t.Detail = contract.CodeWorkerLost, clip(v.Message)
		t.Missed = t.Losses >= maxTargetLosses
	case contract.FailureNone:
		t.Miss(contract.CodeDetectionFailed, explain.TextPagesLost(v.Pages, len(s.Answers)))
	default:
		if retryAt := g.retryAt(t.Retries, v.Failure, now); !retryAt.IsZero() {
			t.Retries, t.BusyTill, t.Code, t.Detail = t.Retries+1, retryAt, contract.CodeDetectionFailed, clip(v.Message)
			g.detect.Since = retryAt // Patience begins with the retry.
			return
		}
		t.Miss(contract.CodeDetectionFailed, clip(v.Message)+explain.TextAttempts(t.Retries+1))
	}
	g.detect.Since = instant.Later(g.detect.Since, now)
}

// drop removes the proposals of an attempt.
func (g *search) drop(s *session) {
	js := &g.jobs
	for _, j := range js.Sorted() {
		if j.From == s.Attempt {
			delete(js.Seen, j.Proposal.DedupeKey)
			js.Bytes -= proposed.Bytes(j.Proposal) + len(j.BatchKey)
			js.Open.Remove(j)
		}
	}
	g.tally.Drop(s.Tally)
}

// pinned is a proposal for the worker that found it. Its key is that of the worker: the
// same path on two nodes is two things.
func pinned(p jobtype.Proposal, worker string) jobtype.Proposal {
	if p.Node != "" {
		return p
	}
	if p.Node = worker; p.DedupeKey != "" {
		p.DedupeKey = jobtype.KeyOf(worker + "/" + p.DedupeKey)
	}
	return p
}

// countTargets counts the workers that have not detected. Final: the run ends.
func (g *search) countTargets(final bool) {
	for _, m := range g.detect.Targets.GiveUp(final) {
		g.note(run.Rejected, m.Code, m.Worker+": "+m.Detail, 0)
	}
	g.recount()
}

func (g *search) recount() {
	g.tally.Counts.Workers, g.tally.Counts.MissedWorkers = len(g.detect.Targets), g.detect.Targets.Missing()
}

// targetsDueAt is when to look at the targets again though nothing happens.
func (g *search) targetsDueAt(now time.Time) time.Time {
	next := g.looked.Due
	if !g.looked.Holds(g.engine.FleetChanges(), now) {
		next = g.detect.Targets.DueAt(now)
	}
	if until := g.patience(); !g.detect.running() && until.After(now) {
		next = instant.Earlier(next, until)
	}
	return next
}

// missedWorkers lists at most limit workers that the group has not reached.
func (g *search) missedWorkers(limit int) []contract.MissedWorker {
	return g.detect.Targets.Away(limit, g.detecting)
}

// everyWait is the wait of a detection on every worker while none runs.
func (g *search) everyWait() run.Wait {
	missed := g.missedWorkers(10)
	wait := run.Wait{Object: g.cfg.Handler, Since: g.detect.Since, Until: g.patience()}
	wait.Code, wait.Detail = explain.Lacking(g.engine.Incomplete(), explain.TextTargets)
	if len(missed) > 0 {
		wait.Code, wait.Object = missed[0].Code, strings.Join(lists.Map(missed, func(m contract.MissedWorker) string { return m.Worker }), ", ")
		wait.Detail = explain.TextTarget(missed[0].Worker, wait.Until, missed[0].Detail)
	}
	return wait
}
