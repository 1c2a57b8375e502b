package group

import (
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/instant"
	"github.com/roundsman/roundsman/internal/engine/run"
)

// detector chooses who detects: the last one if it can, else the next in turn.
func (g *search) detector(now time.Time) (run.Detector, bool) {
	var able []run.Detector
	others := false
	for _, w := range g.engine.Detectors(g.cfg.Handler, g.cfg.JobType) {
		if w.CoolUntil.After(now) || g.detect.Busy[process(w.ID, w.Instance)].After(now) || g.detect.Lacks[process(w.ID, w.Instance)] != "" {
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

// detectorsLack is the error if all workers that detect lack the program; "" if one
// may have it, which may be away for a moment, or there is none.
func (g *search) detectorsLack() (why string) {
	away := func(w run.Candidate) bool {
		return w.Online && !w.Usable && w.Code != contract.CodeUnsupported && g.detect.Lacks[process(w.ID, w.Instance)] == ""
	}
	if g.engine.Incomplete() || slices.ContainsFunc(g.engine.Candidates(theWork, true, nil), away) {
		return ""
	}
	able := g.engine.Detectors(g.cfg.Handler, g.cfg.JobType)
	for _, w := range able {
		if why = g.detect.Lacks[process(w.ID, w.Instance)]; why == "" {
			return ""
		}
	}
	if why == "" {
		return ""
	}
	return explain.TextDetectorsLack(len(able), why)
}

// process names one incarnation of a worker.
func process(id, instance string) string { return id + "/" + instance }

// FailedDetector is the worker on which the detection failed for good; "" if it has
// not.
func (g *search) FailedDetector() string {
	if g.detect.Failed == "" {
		return ""
	}
	return g.detect.Worker
}

// busyDetectors names the workers that could detect and have no slot for it; "" if
// there is another, or none.
func (g *search) busyDetectors() string {
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

// detectPause is how long a worker without a detect slot is left alone. Other
// detections take minutes: with a pause that does not grow the waiting would be most
// of the group's history. Jobs are none of that, they have slots of their own.
func detectPause(refusals int) time.Duration {
	return min(run.CoolDown<<min(refusals, 10), detectPauseMost)
}

// detectLater leaves a worker alone that is too busy for the detection. A group waits for a
// busy worker as long as the worker is alive, up to max_runtime.
func (g *search) detectLater(s *session, now time.Time) {
	d := &g.detect
	if d.BusySince.IsZero() {
		d.BusySince = now
	}
	if d.Busy == nil {
		d.Busy = map[string]time.Time{}
	}
	d.Busy[process(s.Worker, s.Instance)] = now.Add(detectPause(d.Refusals))
	d.Refusals++
}

// detectAgainAt returns the next time to try a worker without a detect slot, or to wait for it no longer.
func (g *search) detectAgainAt(now time.Time) time.Time {
	if g.cfg.DetectEvery {
		return g.targetsDueAt(now)
	}
	var next time.Time
	if g.detect.running() {
		return next
	}
	if g.detect.RetryAt.After(now) {
		next = g.detect.RetryAt
	}
	//workflowcheck:ignore the earliest does not depend on the order
	for _, at := range g.detect.Busy {
		if at.After(now) {
			next = instant.Earlier(next, at)
		}
	}
	return next
}
