package group

import (
	"time"

	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/tally"
)

// A worker that could not detect in time, because it was away, detects when it is usable again
// while the group runs. The jobs of the others run meanwhile. Its findings are claimed under a
// name of their own, and then start like all else.

// late is the state of the detections while the group runs.
type late struct {
	// From is the number of the last job before them.
	From int `json:"from,omitempty"`
	// Claims counts the claims of this turn. Claiming: the last one has no answer yet.
	Claims   int  `json:"claims,omitempty"`
	Claiming bool `json:"claiming,omitempty"`
}

// ClaimingLate reports whether the keys of late detections are being claimed.
func (g *search) ClaimingLate() bool { return g.detect.Late.Claiming }

// mayDetectLate reports whether workers may detect while the group runs.
func (g *search) mayDetectLate() bool {
	return g.cfg.DetectEvery && !g.cfg.DryRun && g.begun && g.phase == PhaseRunning && !g.halt.On()
}

// detectLate starts detections that have become possible, and claims their findings.
func (g *search) detectLate(now time.Time) {
	d := &g.detect
	switch {
	case !g.mayDetectLate() || d.running() || d.Late.Claiming:
		return
	case len(g.lateJobs()) > 0:
		g.claimLate(now)
		return
	case g.paused() || g.looked.Holds(g.engine.FleetChanges(), now):
		return
	}
	d.Late.From = g.jobs.Last
	rolls, waits, cool := g.detectWhereDue(now)
	if d.running() {
		g.jobs.SeeOpen()
	}
	if waits || d.Targets.Missing() > 0 {
		g.engine.Watch()
	}
	g.looked = d.Targets.Looked(!rolls && !d.running(), g.engine.FleetChanges(), cool, now)
}

// lateJobs lists the jobs that are not claimed yet.
func (g *search) lateJobs() (list []*job) {
	for n := g.detect.Late.From + 1; n <= g.jobs.Last; n++ {
		if j := g.jobs.Open.Get(n); j != nil && j.Late {
			list = append(list, j)
		}
	}
	return list
}

// renumber gives the jobs of late detections the numbers from the first free one on.
func (g *search) renumber(list []*job) {
	for _, j := range g.lateJobs() {
		g.jobs.Open.Remove(j)
	}
	g.jobs.Last = g.detect.Late.From
	for _, j := range list {
		g.jobs.Last++
		j.N = g.jobs.Last
		g.jobs.Open.Put(j)
	}
}

func (g *search) claimLate(now time.Time) {
	list := g.lateJobs()
	g.renumber(list)
	if !g.cfg.Claims || len(g.Claims(true)) == 0 {
		g.beginLate(list, now)
		return
	}
	g.detect.Late.Claims++
	g.detect.Late.Claiming = true
	g.do(ClaimKeys{Turn: g.turn.Number, Late: g.detect.Late.Claims})
}

// beginLate makes proposals of late detections jobs that may start.
func (g *search) beginLate(list []*job, now time.Time) {
	list = g.gather(list)
	g.renumber(list)
	for _, j := range list {
		j.Late = false
	}
	g.detect.Late.Claiming, g.detect.Late.From = false, g.jobs.Last
	g.offer(list, now)
}

// endLate ends the jobs of late detections before they begin.
func (g *search) endLate(state run.State, why reason, now time.Time) {
	list := g.lateJobs()
	g.beginLate(list, now)
	for _, j := range list {
		g.engine.End(now, j.N, state, why.String())
	}
}

// stopLate ends the late detections of a group that stops. The engine has stopped, so it settles new items at once.
func (g *search) stopLate(now time.Time) {
	if !g.begun || !g.cfg.DetectEvery {
		return
	}
	g.cancelDetections()
	for _, s := range g.detect.Open { // Half a detection is none.
		g.drop(s)
		s.Tally = tally.Found{}
	}
	g.detect.Late.Claiming = false
	if list := g.lateJobs(); len(list) > 0 {
		g.beginLate(list, now)
	}
}

// awaitsLate reports whether the group stays open for detections: for those that run, and for
// workers that may come back within its patience. A paused group starts none, so it keeps its lane for none.
func (g *search) awaitsLate(now time.Time) bool {
	d := &g.detect
	return g.begun && d.running() || d.Late.Claiming ||
		g.mayDetectLate() && !g.paused() && d.Targets.Awaited() && now.Before(g.patience())
}
