package group

import (
	"time"

	"github.com/roundsman/roundsman/internal/engine/carry"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/halt"
)

// resumeFrom gives a job the checkpoint that an earlier group left for it.
func (g *work) resumeFrom(j *job) {
	if left, ok := g.carried.Find(j.CarriedKey(g.cfg.JobType, g.carried.List)); ok {
		j.Checkpoint, j.Done = left.Checkpoint, left.Done
	}
}

// carryOver handles the checkpoint of an ended job. A later group continues it if the end of the window or of the
// group's time stopped the job.
func (g *work) carryOver(j *job, r *run.Report, now time.Time) {
	key, at := j.CarriedKey(g.cfg.JobType, g.carried.List), now
	left, unspent := g.carried.Find(key)
	if unspent && len(j.Checkpoint) > 0 && j.Attempt == 0 {
		at = left.At // It was not touched.
	}
	g.carried.Remove(key)
	if len(j.Checkpoint) == 0 || !g.cfg.Windows && !unspent || g.halt.Cause == halt.Lost || !continues(r) {
		return
	}
	g.carried.Put(carry.Checkpoint{Key: key, Checkpoint: j.Checkpoint, Done: j.Done, At: at})
}

// continues reports whether another group's job is to continue with this one's work:
// only the group's end kept it from being done. One that failed for good begins
// again: its checkpoint may be the reason.
func continues(r *run.Report) bool {
	switch r.State {
	case run.NotStarted:
		return true
	case run.Canceled, run.Failed, run.Stale:
		return r.Cut
	case run.Completed, run.Expired, run.Open:
	}
	return false
}

// Carried lists the checkpoints for later groups, oldest first.
func (g *work) Carried() []carry.Checkpoint { return g.carried.List }

// Dropped lists the checkpoints that could not be carried over.
func (g *work) Dropped() carry.Dropped { return g.carried.Dropped }
