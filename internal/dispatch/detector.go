package dispatch

import (
	"slices"
	"strings"
	"time"
)

// detectPauseMost is the longest that a worker without a detect slot is left alone;
// the first time it is CoolDown, doubled each time after that.
const detectPauseMost = 30 * time.Second

// detector chooses who detects: the last one if it can, else the next in turn.
func (g *Group) detector(now time.Time) *worker {
	able := slices.DeleteFunc(g.detectors(), func(w *worker) bool {
		return w.CoolUntil.After(now) || g.detect.Busy[process(w.ID, w.Instance)].After(now)
	})
	if len(able) > 1 {
		able = slices.DeleteFunc(able, func(w *worker) bool { return w.ID == g.detect.Avoid })
	}
	if len(able) == 0 {
		return nil
	}
	for _, w := range able {
		if w.ID == g.cfg.LastDetector {
			return w
		}
	}
	turn := g.cfg.Sequence + int64(g.detect.Attempt)
	return able[int(turn%int64(len(able)))]
}

// FailedDetector is the worker on which the detection failed for good; "" if it
// has not.
func (g *Group) FailedDetector() string {
	if g.detect.Failed == "" {
		return ""
	}
	return g.detect.Worker
}

// detectors are the workers that could detect, if they had a slot.
func (g *Group) detectors() []*worker {
	var able []*worker
	for _, w := range g.workers.Members() {
		if w.Offer.Detect && w.Alive() {
			able = append(able, w)
		}
	}
	return able
}

// detectLater leaves a worker alone that has no slot for the detection. Other
// detections take minutes: with a pause that does not grow the waiting would be
// most of the group's history. Jobs are none of that, they have slots of their own.
func (g *Group) detectLater(now time.Time) {
	d := &g.detect
	pause := min(CoolDown<<min(d.Refusals, 10), detectPauseMost)
	d.Refusals++
	if d.BusySince.IsZero() {
		d.BusySince = now
	}
	if d.Busy == nil {
		d.Busy = map[string]time.Time{}
	}
	d.Busy[process(d.Worker, d.Instance)] = now.Add(pause)
	g.timers.push(timer{at: now.Add(pause), kind: timerWake})
}

// process names one incarnation of a worker.
func process(id, instance string) string { return id + "/" + instance }

// busyDetectors names the workers that could detect and have no slot for it; "" if
// there is another, or none.
func (g *Group) busyDetectors() string {
	var ids []string
	for _, w := range g.detectors() {
		if _, busy := g.detect.Busy[process(w.ID, w.Instance)]; !busy {
			return ""
		}
		ids = append(ids, w.ID)
	}
	return strings.Join(ids[:min(len(ids), maxCrowds)], ", ")
}
