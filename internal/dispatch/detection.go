package dispatch

import (
	"fmt"
	"slices"
	"time"

	"github.com/roundsman/roundsman/internal/placement"
)

// detection is the group's one detection, which may take several attempts.
type detection struct {
	Attempt  int    `json:"attempt"`
	Running  bool   `json:"running"`
	Worker   string `json:"worker,omitempty"`
	Instance string `json:"instance,omitempty"`
	Avoid    string `json:"avoid,omitempty"`
	Losses   int    `json:"losses,omitempty"`
	// Busy are the processes that had no slot for it, with when they are asked again.
	// Refusals counts how often that was, BusySince is when it was first.
	Busy      map[string]time.Time `json:"busy,omitempty"`
	Refusals  int                  `json:"refusals,omitempty"`
	BusySince time.Time            `json:"busy_since,omitzero"`
	Answers   []PageAnswer         `json:"answers,omitempty"`
	Errors    []string             `json:"errors,omitempty"`
	// Failed is why the detection as a whole failed.
	Failed string `json:"failed,omitempty"`
}

const maxInvalidErrors = 10

func (d *detection) invalid(message string) {
	if len(d.Errors) < maxInvalidErrors {
		d.Errors = append(d.Errors, clip(message))
	}
}

// advanceDetection starts a detection when there is somebody to do it.
func (g *Group) advanceDetection(now time.Time) {
	if g.detect.Running {
		return
	}
	if g.cfg.Submitted && g.stopping == stopNone {
		return // [Submitted] is on its way.
	}
	if g.stopping != stopNone {
		g.phase = PhaseDispatching
		return
	}
	if g.paused {
		g.watch() // Who detects is chosen when the pause is over.
		return
	}
	w := g.detector(now)
	if w == nil {
		g.watch()
		return
	}
	if g.detect.Attempt == 0 {
		g.noteWait(placement.NoteNoWorker, wholeGroup, "nobody with handler "+g.cfg.Handler+" could detect", g.startedAt.Add(g.pausedFor), now)
	}
	g.resetProposals()
	d := &g.detect
	*d = detection{
		Attempt: d.Attempt + 1, Running: true, Worker: w.ID, Instance: w.Instance, Avoid: d.Avoid, Losses: d.Losses,
		Busy: d.Busy, Refusals: d.Refusals, BusySince: d.BusySince,
	}
	g.decide(StartDetection{
		Attempt: d.Attempt, ID: w.ID, Instance: w.Instance,
		Timeout: min(g.cfg.Policy.DetectionTimeout.Std(), g.timeLeft(now)),
	})
}

// timeLeft is how long the group may still run.
func (g *Group) timeLeft(now time.Time) time.Duration {
	if closes := g.closes(); !closes.IsZero() && closes.Before(g.deadline) {
		return closes.Sub(now)
	}
	return g.deadline.Sub(now)
}

// resetProposals drops what an earlier attempt found: half a detection must not
// look like a whole one.
func (g *Group) resetProposals() {
	g.jobs, g.keys, g.bytes = nil, map[string]int{}, 0
	g.counts = Counts{}
}

func (e DetectionEnded) apply(g *Group, now time.Time) {
	d := &g.detect
	if !d.Running || e.Attempt != d.Attempt {
		return
	}
	d.Running = false
	switch {
	case g.stopping != stopNone:
		g.resetProposals()
	case e.Failure != FailureNone:
		g.detectionFailed(e, now)
	case e.Pages != len(d.Answers):
		d.Failed = fmt.Sprintf("the detector sent %d pages, %d arrived: this is a bug, please report it", e.Pages, len(d.Answers))
		g.failDetection()
	default:
		g.detectionDone(e, now)
	}
}

func (g *Group) detectionDone(e DetectionEnded, now time.Time) {
	g.detect.Busy = nil
	g.counts.Detected, g.counts.DetectedMore = e.Emitted, e.More
	g.counts.Duplicates += e.Duplicates
	g.counts.Surplus += e.Surplus
	g.counts.Invalid += e.Invalid
	for _, message := range e.InvalidErrors {
		g.detect.invalid(message)
	}
	g.detected(now)
}

// detected goes on once everything that is to be done is known.
func (g *Group) detected(now time.Time) {
	g.noteDetected()
	g.keys = nil
	switch {
	case g.cfg.DryRun:
		g.countBatches()
		g.phase = PhaseDispatching
	case g.cfg.Claims && g.hasKeys():
		g.phase = PhaseClaiming
		g.decide(ClaimKeys{})
	default:
		g.beginDispatch(now)
	}
}

func (g *Group) hasKeys() bool {
	return slices.ContainsFunc(g.jobs, func(j *job) bool { return j.Proposal.DedupeKey != "" })
}

// beginDispatch makes every accepted proposal a job that may start.
func (g *Group) beginDispatch(now time.Time) {
	g.phase, g.begun = PhaseDispatching, true
	g.gather()
	g.open = len(g.jobs)
	g.takeUp()
	g.setWindowTimers()
	for _, j := range g.jobs {
		if j.Canceling != "" {
			g.finish(j, StateCanceled, j.Canceling, now)
			continue
		}
		g.enqueue(j, j.Proposal.NotBefore, now)
	}
	if g.open > 0 {
		g.watch()
	}
}

// detectionFailed tries again where the worker was the cause, not the handler.
func (g *Group) detectionFailed(e DetectionEnded, now time.Time) {
	d := &g.detect
	g.resetProposals()
	d.Avoid = d.Worker
	g.noteDetection(e)
	switch e.Failure {
	case FailureAtCapacity:
		g.detectLater(now)
		return
	case FailureDraining:
		g.cool(d.Worker, d.Instance, DrainCoolDown, now)
		return
	case FailureUnsupported:
		g.exclude(d.Worker, d.Instance)
		return
	case FailureNotTaken, FailureWorkerLost:
		g.doubt(d.Worker, d.Instance)
		d.Losses++
		if d.Losses < maxDetectAttempts {
			return
		}
	case FailureNone, FailureFailed, FailurePermanent, FailureStale, FailureTimeout, FailureCanceled:
	}
	d.Failed = fmt.Sprintf("detection on %s: %s", d.Worker, clip(e.Message))
	g.failDetection()
}

func (g *Group) failDetection() {
	g.resetProposals()
	g.phase = PhaseDispatching
}

func (g *Group) exclude(id, instance string) {
	g.workers.Exclude(id, instance)
}

// watch asks for changes of the fleet, once.
func (g *Group) watch() {
	if !g.workers.watching {
		g.workers.watching = true
		g.decide(WatchFleet{})
	}
}
