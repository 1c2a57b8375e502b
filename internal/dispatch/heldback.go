package dispatch

import (
	"fmt"
	"slices"
	"time"

	"github.com/roundsman/roundsman/internal/placement"
)

// HeldBack is a proposal that was left out because its key is held back.
type HeldBack struct {
	// Job is its number when the keys were claimed.
	Job  int    `json:"-"`
	Key  string `json:"key"`
	Code string `json:"code"`
	// Since and Until are the time for which it is.
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`
	Detail string    `json:"detail"`
}

// leaveOut drops what others are at, and what is held back, and counts it.
func (g *Group) leaveOut(e KeysClaimed) {
	for i, n := range e.Active {
		j := g.job(n)
		if j == nil {
			continue
		}
		if len(g.deduped) < maxDeduped {
			g.deduped = append(g.deduped, Deduped{Key: j.Proposal.DedupeKey, By: e.By[i]})
		}
		g.note(placement.Refused, placement.NoteDeduped, wholeGroup, fmt.Sprintf("key %q is active in %s", j.Proposal.DedupeKey, e.By[i]), 0)
	}
	off := map[int]bool{}
	for _, held := range e.HeldBack {
		j := g.job(held.Job)
		if j == nil || off[held.Job] {
			continue
		}
		off[held.Job] = true
		g.note(placement.Refused, placement.NoteCode(held.Code), wholeGroup, fmt.Sprintf("key %q: %s", j.Proposal.DedupeKey, held.Detail), 0)
		if held.Key = j.Proposal.DedupeKey; len(g.heldBack) < maxHeldBack {
			g.heldBack = append(g.heldBack, held)
		}
	}
	found := len(g.jobs)
	g.jobs = slices.DeleteFunc(g.jobs, func(j *job) bool {
		_, active := slices.BinarySearch(e.Active, j.N)
		return active || off[j.N]
	})
	for i, j := range g.jobs {
		j.N = i + 1
	}
	g.counts.Disabled += len(off)
	g.counts.AlreadyActive += found - len(g.jobs) - len(off)
	g.counts.Accepted = len(g.jobs)
}

// HeldBack lists the first proposals that were left out because their keys are
// held back.
func (g *Group) HeldBack() []HeldBack { return g.heldBack }

// heldBackText says why nothing of what was submitted is done.
func (g *Group) heldBackText() string {
	if len(g.heldBack) == 0 {
		return "every key is held back"
	}
	first := g.heldBack[0]
	text := fmt.Sprintf("%s: key %q is %s", first.Code, first.Key, first.Detail)
	if more := g.counts.Disabled + g.counts.AlreadyActive - 1; more > 0 {
		text += fmt.Sprintf(", and %d more are held back or active elsewhere", more)
	}
	return text
}

// KeyStopped says that a job's key is held back from now on. What runs goes on;
// what waits for another attempt ends. Of a key that was marked as done (Done)
// nothing starts any more.
type KeyStopped struct {
	DedupeKey string
	Done      bool
	Reason    string
}

// TypeStopped says that the job type is disabled from now on: what runs goes
// on, nothing starts.
type TypeStopped struct{ Reason string }

func (e KeyStopped) apply(g *Group, now time.Time) {
	if !g.forJobs() {
		return
	}
	for _, j := range g.jobs {
		if !j.carries(e.DedupeKey) || j.State.Final() {
			continue
		}
		waits := j.State == StatePending || j.State == StateHeld
		g.note(placement.Refused, placement.NoteStopped, j.N, e.Reason, 0)
		switch {
		case waits && e.Done && len(j.Items) > 1:
			j.dropItem(e.DedupeKey)
			g.counts.Batched--
			g.counts.Disabled++
		case waits && e.Done:
			g.finish(j, StateCanceled, e.Reason, now)
		case waits && j.Retries > 0:
			g.finish(j, StateFailed, e.Reason, now)
		default:
			j.Barred = e.Reason
		}
	}
}

func (e TypeStopped) apply(g *Group, now time.Time) {
	g.note(placement.Ended, placement.NoteStopped, wholeGroup, e.Reason, 0)
	g.stop(stopBudget, e.Reason, now)
}
