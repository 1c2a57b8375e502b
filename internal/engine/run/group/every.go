package group

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/jobtype"
)

// A group for every worker detects on each worker that could serve it, or has one job
// for each. Those that it cannot reach are missed: they keep the group from being
// completed, and the others' jobs are done.

const (
	// maxDetections is how many workers detect at once: what they return with the end
	// of a detection stays far below what a history holds.
	maxDetections = 50
	// maxTargetLosses is how often a detection that was lost with its worker is
	// repeated there.
	maxTargetLosses = 3
	// maxRunPages is how many pages one workflow run takes: the server allows 2,000
	// Updates, and a page may be sent twice.
	maxRunPages = 1000
)

// target is one worker of such a group.
type target struct {
	Attempts int       `json:"a,omitempty"`
	Losses   int       `json:"l,omitempty"`
	Refusals int       `json:"r,omitempty"`
	BusyTill time.Time `json:"b,omitzero"`
	// Retries counts the attempts after a failure of the handler.
	Retries int `json:"f,omitempty"`
	// Done: it has detected, or has its job. Missed: it never will, in this group.
	Done   bool `json:"d,omitempty"`
	Missed bool `json:"m,omitempty"`
	// Code and Detail say why it has not yet, or never will.
	Code   contract.Code `json:"c,omitempty"`
	Detail string        `json:"t,omitempty"`
}

func (t *target) over() bool { return t.Done || t.Missed }

func (t *target) miss(code contract.Code, detail string) {
	t.Missed, t.Code, t.Detail = true, code, detail
}

// later leaves the worker alone for a pause that grows.
func (t *target) later(code contract.Code, detail string, now time.Time) {
	t.BusyTill = now.Add(detectPause(t.Refusals))
	t.Refusals++
	t.Code, t.Detail = code, detail
}

func (g *Group) target(id string) *target {
	d := &g.detect
	if d.Targets == nil {
		d.Targets = map[string]*target{}
	}
	if d.Targets[id] == nil {
		d.Targets[id] = &target{}
	}
	return d.Targets[id]
}

// spreads reports whether the group is for every worker.
func (g *Group) spreads() bool { return g.cfg.DetectEvery || g.cfg.EachWorker }

// candidates are the workers that the group is for, well or not.
func (g *Group) candidates() []run.Candidate {
	return g.engine.Candidates(theWork, g.cfg.DetectEvery, g.cfg.Labels)
}

// reachable reports whether one of them can serve now. A registry that was just rebuilt
// does not know them all yet.
func (g *Group) reachable() bool {
	return !g.engine.Incomplete() && slices.ContainsFunc(g.candidates(), func(w run.Candidate) bool { return w.Usable })
}

// proposeEach proposes one job for each worker that is ONLINE.
func (g *Group) proposeEach(now time.Time) {
	for _, w := range g.candidates() {
		t := g.target(w.ID)
		if !w.Online {
			t.miss(w.Code, w.Reason)
			continue
		}
		var answer PageAnswer
		g.takeProposal(nil, jobtype.Proposal{DedupeKey: w.ID, Summary: g.cfg.JobType + " on " + w.ID, Node: w.ID}, "", &answer, now)
		g.counts.Detected++
		if t.Done = answer.Accepted == 1; !t.Done {
			t.miss(contract.CodeSurplus, g.textFull())
		}
	}
	g.countTargets()
}

// detectOnEvery starts detections, and continues once no worker is left that may
// detect.
func (g *Group) detectOnEvery(now time.Time) {
	d := &g.detect
	if d.Since.IsZero() {
		d.Since = now
	}
	rolls := d.pages >= maxRunPages || g.engine.Rolling()
	waits := g.engine.Incomplete()
	for _, w := range g.candidates() {
		t := g.target(w.ID)
		switch {
		case t.over() || g.detecting(w.ID):
		case !w.Usable:
			t.Code, t.Detail = w.Code, w.Reason
			waits = waits || w.Online // It may be well again in a moment.
		case w.CoolUntil.After(now) || t.BusyTill.After(now):
			waits = true
		case g.full():
			t.miss(contract.CodeSurplus, g.textFull())
			g.counts.DetectedMore = true
		case len(d.Open) >= maxDetections || rolls:
			waits = true
		default:
			t.Attempts++
			g.startDetection(w.ID, w.Instance, now)
		}
	}
	if len(d.Open) > 0 || waits && (rolls || now.Before(g.patience())) {
		g.engine.Watch()
		return
	}
	g.countTargets()
	g.jobs.replace(g.jobs.sorted())
	g.detected(now)
}

// patience is how long workers are waited for that may become able to detect.
func (g *Group) patience() time.Time { return g.detect.Since.Add(g.cfg.Policy.DetectionTimeout.Std()) }

func (g *Group) detecting(worker string) bool {
	return slices.ContainsFunc(g.detect.Open, func(s *session) bool { return s.Worker == worker })
}

// targetDetected counts the end of a detection on one worker. Proposals that an attempt that
// failed had sent are dropped.
func (g *Group) targetDetected(s *session, v DetectionEnded, lost bool, now time.Time) {
	t := g.target(s.Worker)
	if v.Failure == failureNone && !lost {
		t.Done, g.detect.Since = true, latestOf(g.detect.Since, now)
		g.detect.explain(v.Explanations, s.Worker+": ")
		g.engine.Started(s.Worker, s.Instance)
		g.countDetected(v)
		return
	}
	g.drop(s)
	g.noteDetection(v)
	switch v.Failure { //nolint:exhaustive // every other one is the handler's
	case failureAtCapacity:
		t.later(contract.CodeSlots, "it has no free detect slot (raise --max-detect)", now)
		return
	case failureNotTaken:
		t.later(contract.CodeSlots, clip(v.Message), now)
		return
	case failureDraining:
		g.engine.Cool(now, s.Worker, s.Instance, run.DrainCoolDown)
		t.Code, t.Detail = contract.CodeDraining, clip(v.Message)
		return
	case failureCannotStart:
		g.engine.CannotStart(now, s.Worker, s.Instance, run.Ending{Failure: v.Failure, Message: v.Message})
		t.later(contract.CodeCannotStart, clip(v.Message), now)
		return
	case failureNotInstalled:
		t.miss(contract.CodeNotInstalled, clip(v.Message))
	case failureUnsupported:
		g.engine.Exclude(now, s.Worker, s.Instance, g.cfg.Handler)
		t.miss(contract.CodeUnsupported, clip(v.Message))
	case failureWorkerLost:
		t.Losses++
		t.Code, t.Detail = contract.CodeWorkerLost, clip(v.Message)
		t.Missed = t.Losses >= maxTargetLosses
	case failureNone:
		t.miss(contract.CodeDetectionFailed, textPagesLost(v.Pages, len(s.Answers)))
	default:
		if retryAt := g.retryAt(t.Retries, v.Failure, now); !retryAt.IsZero() {
			t.Retries, t.BusyTill, t.Code, t.Detail = t.Retries+1, retryAt, contract.CodeDetectionFailed, clip(v.Message)
			g.detect.Since = retryAt // Patience begins with the retry.
			return
		}
		t.miss(contract.CodeDetectionFailed, clip(v.Message)+textDetections(t.Retries+1))
	}
	g.detect.Since = latestOf(g.detect.Since, now)
}

// drop takes back what an attempt had sent.
func (g *Group) drop(s *session) {
	js := &g.jobs
	for _, j := range js.sorted() {
		if j.From == s.Attempt {
			delete(js.keys, j.Proposal.DedupeKey)
			js.bytes -= proposalBytes(j.Proposal) + len(j.BatchKey)
			js.open.remove(j)
		}
	}
	g.counts.Accepted -= s.Tally.Accepted
	g.counts.Duplicates -= s.Tally.Duplicates
	g.counts.Surplus -= s.Tally.Surplus
	g.counts.Invalid -= s.Tally.Invalid
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

// countTargets gives up who has not detected.
func (g *Group) countTargets() {
	for _, id := range g.targetIDs() {
		t := g.detect.Targets[id]
		g.counts.Workers++
		if t.Done {
			continue
		}
		if t.Code == "" {
			t.Code, t.Detail = contract.CodeNoWorker, "it is registered no longer"
		}
		t.Missed = true
		g.counts.MissedWorkers++
		g.note(run.Rejected, t.Code, id+": "+t.Detail, 0)
	}
}

func (g *Group) targetIDs() []string { return slices.Sorted(maps.Keys(g.detect.Targets)) }

// targetsDueAt is when to look at the targets again though nothing happens.
func (g *Group) targetsDueAt(now time.Time) time.Time {
	var next time.Time
	//workflowcheck:ignore the earliest does not depend on the order
	for _, t := range g.detect.Targets {
		if !t.over() && t.BusyTill.After(now) {
			next = earliestSet(next, t.BusyTill)
		}
	}
	if until := g.patience(); !g.detect.running() && until.After(now) {
		next = earliestSet(next, until)
	}
	return next
}

// MissedWorkers lists the workers that the group does not reach, at most limit, and how
// many workers it is for, and has done with.
func (g *Group) missedWorkers(limit int) []contract.MissedWorker {
	var list []contract.MissedWorker
	for _, id := range g.targetIDs() {
		t := g.detect.Targets[id]
		if len(list) < limit && !t.Done && t.Code != "" && !g.detecting(id) {
			list = append(list, contract.MissedWorker{Worker: id, Code: t.Code, Detail: t.Detail, Attempts: t.Attempts})
		}
	}
	return list
}

// everyWait says what a detection on every worker waits for while none runs.
func (g *Group) everyWait() run.Wait {
	missed := g.missedWorkers(10)
	wait := run.Wait{Code: contract.CodeNoWorker, Object: g.cfg.Handler, Since: g.detect.Since, Until: g.patience(), Detail: "it waits for workers that may detect in a moment"}
	if len(missed) > 0 {
		names := make([]string, len(missed))
		for i, m := range missed {
			names[i] = m.Worker
		}
		wait.Code, wait.Object = missed[0].Code, strings.Join(names, ", ")
		wait.Detail = fmt.Sprintf("%s is waited for until %s: %s", missed[0].Worker, at(wait.Until), missed[0].Detail)
	}
	return wait
}
