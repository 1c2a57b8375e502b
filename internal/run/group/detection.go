package group

import (
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/run"
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

const (
	maxInvalidErrors = 10
	// detectPauseMost is the longest that a worker without a detect slot is left
	// alone; the first time it is the engine's CoolDown, doubled each time.
	detectPauseMost = 30 * time.Second
	maxErrorBytes   = 1024
)

func (d *detection) invalid(message string) {
	if len(d.Errors) < maxInvalidErrors {
		d.Errors = append(d.Errors, clip(message))
	}
}

func clip(message string) string {
	if len(message) > maxErrorBytes {
		message = strings.ToValidUTF8(message[:maxErrorBytes], "") + "…"
	}
	return message
}

// advanceDetection starts a detection when a worker can do it.
func (g *Group) advanceDetection(now time.Time) {
	switch {
	case g.detect.Running:
		return
	case g.stopping != stopNone:
		g.phase = PhaseRunning
		return
	case g.paused:
		g.engine.Watch() // Who detects is chosen when the pause is over.
		return
	}
	w, ok := g.detector(now)
	if !ok {
		g.engine.Watch()
		return
	}
	g.resetProposals()
	d := &g.detect
	*d = detection{
		Attempt: d.Attempt + 1, Running: true, Worker: w.ID, Instance: w.Instance, Avoid: d.Avoid, Losses: d.Losses,
		Busy: d.Busy, Refusals: d.Refusals, BusySince: d.BusySince,
	}
	g.do(StartDetection{
		Attempt: d.Attempt, ID: w.ID, Instance: w.Instance, Timeout: min(g.cfg.Policy.DetectionTimeout.Std(), g.timeLeft(now)),
	})
}

// detector chooses who detects: the last one if it can, else the next in turn.
func (g *Group) detector(now time.Time) (run.Detector, bool) {
	var able []run.Detector
	others := false
	for _, w := range g.engine.Detectors(g.cfg.Handler, g.cfg.JobType) {
		if w.CoolUntil.After(now) || g.detect.Busy[process(w.ID, w.Instance)].After(now) {
			continue
		}
		able = append(able, w)
		others = others || w.ID != g.detect.Avoid
	}
	if others {
		rest := able[:0]
		for _, w := range able {
			if w.ID != g.detect.Avoid {
				rest = append(rest, w)
			}
		}
		able = rest
	}
	if len(able) == 0 {
		return run.Detector{}, false
	}
	for _, w := range able {
		if w.ID == g.cfg.LastDetector {
			return w, true
		}
	}
	turn := g.cfg.Sequence + int64(g.detect.Attempt)
	return able[int(turn%int64(len(able)))], true
}

// process names one incarnation of a worker.
func process(id, instance string) string { return id + "/" + instance }

// FailedDetector is the worker on which the detection failed for good; "" if it has
// not.
func (g *Group) FailedDetector() string {
	if g.detect.Failed == "" {
		return ""
	}
	return g.detect.Worker
}

// busyDetectors names the workers that could detect and have no slot for it; "" if
// there is another, or none.
func (g *Group) busyDetectors() string {
	const most = 10
	var ids []string
	for _, w := range g.engine.Detectors(g.cfg.Handler, g.cfg.JobType) {
		if _, busy := g.detect.Busy[process(w.ID, w.Instance)]; !busy {
			return ""
		}
		ids = append(ids, w.ID)
	}
	return strings.Join(ids[:min(len(ids), most)], ", ")
}

// timeLeft is how long the group may still run.
func (g *Group) timeLeft(now time.Time) time.Duration {
	if closes := g.closes(); !closes.IsZero() && closes.Before(g.deadline) {
		return closes.Sub(now)
	}
	return g.deadline.Sub(now)
}

// resetProposals drops what an earlier attempt found: half a detection must not look
// like a whole one.
func (g *Group) resetProposals() {
	g.jobs, g.counts = newJobs(), contract.GroupCounts{}
}

func (v DetectionEnded) apply(g *Group, now time.Time) {
	d := &g.detect
	if !d.Running || v.Attempt != d.Attempt {
		return
	}
	d.Running = false
	switch {
	case g.stopping != stopNone:
		g.resetProposals()
	case v.Failure != failureNone:
		g.detectionFailed(v, now)
	case v.Pages != len(d.Answers):
		g.failDetection(textPagesLost(v.Pages, len(d.Answers)))
	default:
		d.Busy = nil
		g.counts.Detected, g.counts.DetectedMore = v.Emitted, v.More
		g.counts.Duplicates += v.Duplicates
		g.counts.Surplus += v.Surplus
		g.counts.Invalid += v.Invalid
		for _, message := range v.InvalidErrors {
			d.invalid(message)
		}
		g.detected(now)
	}
}

// detected continues once everything that is to be done is known.
func (g *Group) detected(now time.Time) {
	g.noteDetected()
	g.jobs.keys = nil
	switch {
	case g.cfg.DryRun:
		g.countBatches()
		g.phase = PhaseRunning
	case g.claims():
		g.phase = PhaseClaiming
		g.do(ClaimKeys{Turn: g.turn.Number})
	default:
		g.beginRunning(now)
	}
}

// claims reports whether there are keys to claim.
func (g *Group) claims() bool {
	if !g.cfg.Claims {
		return false
	}
	//workflowcheck:ignore a disjunction does not depend on the order
	for _, j := range g.jobs.open {
		if j.firstKey() != "" {
			return true
		}
	}
	return false
}

// beginRunning makes every accepted proposal a job that may start.
func (g *Group) beginRunning(now time.Time) {
	g.phase, g.begun = PhaseRunning, true
	g.gather()
	for _, j := range g.jobs.sorted() {
		g.resumeFrom(j)
		if j.Canceling != "" {
			g.finish(j, &run.Report{Kind: run.Settled, Item: j.N, State: run.Canceled, Message: j.Canceling}, now)
			continue
		}
		g.engine.Offer(now, g.item(j))
	}
}

// detectionFailed tries again where the worker was the cause, not the handler.
func (g *Group) detectionFailed(v DetectionEnded, now time.Time) {
	d := &g.detect
	g.resetProposals()
	d.Avoid = d.Worker
	g.noteDetection(v)
	switch v.Failure { //nolint:exhaustive // every other one is the handler's
	case failureAtCapacity:
		g.detectLater(now)
		return
	case failureDraining:
		g.engine.Cool(now, d.Worker, d.Instance, run.DrainCoolDown)
		return
	case failureUnsupported:
		g.engine.Exclude(now, d.Worker, d.Instance, g.cfg.Handler)
		return
	case failureNotTaken, failureWorkerLost:
		g.engine.Suspect(now, d.Worker, d.Instance)
		d.Losses++
		if d.Losses < maxDetectAttempts {
			return
		}
	}
	g.failDetection(textDetectionFailed(d.Worker, clip(v.Message)))
}

func (g *Group) failDetection(why string) {
	g.resetProposals()
	g.detect.Failed = why
	g.phase = PhaseRunning
}

// detectLater leaves a worker alone that has no slot for the detection. Other
// detections take minutes: with a pause that does not grow the waiting would be most
// of the group's history. Jobs are none of that, they have slots of their own.
func (g *Group) detectLater(now time.Time) {
	d := &g.detect
	pause := min(run.CoolDown<<min(d.Refusals, 10), detectPauseMost)
	d.Refusals++
	if d.BusySince.IsZero() {
		d.BusySince = now
	}
	if d.Busy == nil {
		d.Busy = map[string]time.Time{}
	}
	d.Busy[process(d.Worker, d.Instance)] = now.Add(pause)
}

// detectAgainAt is when a worker without a detect slot may be asked again.
func (g *Group) detectAgainAt(now time.Time) time.Time {
	var next time.Time
	//workflowcheck:ignore the earliest does not depend on the order
	for _, at := range g.detect.Busy {
		if at.After(now) {
			next = earliestSet(next, at)
		}
	}
	return next
}

// loseDetection ends a detection whose worker the registry has given up.
func (g *Group) loseDetection(now time.Time) {
	d := &g.detect
	if !d.Running {
		return
	}
	if why := g.engine.WhyGone(d.Worker, d.Instance); why != "" {
		g.do(CancelDetection{Attempt: d.Attempt})
		DetectionEnded{Attempt: d.Attempt, Failure: failureWorkerLost, Message: why}.apply(g, now)
	}
}
