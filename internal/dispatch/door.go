package dispatch

import (
	"container/heap"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/internal/placement"
	"github.com/roundsman/roundsman/jobtype"
)

// door says whether a job has the pools and objects that it needs.
type door string

const (
	doorClosed door = ""
	doorAsked  door = "asked"
	doorOpen   door = "open"
)

// maxDeduped bounds how many proposals are remembered with who is at them.
const maxDeduped = 50

// Deduped is a proposal whose key another group holds.
type Deduped struct {
	Key string `json:"key"`
	By  string `json:"by"`
}

func (j *job) hasNeeds() bool {
	return len(j.Proposal.Resources)+len(j.Proposal.Exclusive)+len(j.Proposal.Shared) > 0
}

// needsDoor reports whether the job must ask for resources before it starts.
func (g *Group) needsDoor(j *job) bool { return g.cfg.Claims && j.Door == doorClosed && j.hasNeeds() }

// ask asks for a job's resources. Only as many jobs ask as could start: what is
// granted and not used is taken from others for nothing.
func (g *Group) ask(j *job, now time.Time) {
	j.Ask++
	j.Door, j.AskedAt = doorAsked, now
	g.countDoor(j)
	g.decide(Acquire{Job: j.N, Ask: j.Ask, Proposal: &j.Proposal})
}

// leaveDoor gives a job's resources back, or its place among those who wait.
func (g *Group) leaveDoor(j *job) {
	if j.Door == doorClosed {
		return
	}
	g.decide(GiveUp{Job: j.N, Ask: j.Ask})
	reorder := j.queued && j.Door == doorOpen
	key := j.class()
	j.Door, j.Fence, j.FenceEnd = doorClosed, 0, 0
	g.countDoor(j)
	if c := g.queue.classes[key]; reorder && c != nil {
		heap.Init(&c.heap)
	}
	g.queue.unblock()
}

// leaveDoors is for a pause: nothing starts, so nothing is kept from others.
func (g *Group) leaveDoors() {
	for _, j := range g.jobs {
		if j.State != StatePending || j.Door == doorClosed {
			continue
		}
		waited := j.Door == doorAsked
		g.leaveDoor(j)
		if waited {
			j.queued = true
			g.queue.push(j)
		}
	}
}

// countDoor keeps the number of jobs that ask or have been granted and do not
// run.
func (g *Group) countDoor(j *job) {
	counts := j.Door != doorClosed && j.State == StatePending
	switch {
	case counts && !j.counted:
		g.doors++
	case !counts && j.counted:
		g.doors--
		g.queue.unblock() // Another job may ask now.
	}
	j.counted = counts
}

// asking returns the job if it still waits for the answer to that ask.
func (g *Group) asking(n, ask int) *job {
	if j := g.job(n); j != nil && j.Door == doorAsked && j.Ask == ask && j.State == StatePending {
		return j
	}
	return nil
}

func (e Admitted) apply(g *Group, now time.Time) {
	j := g.asking(e.Job, e.Ask)
	if j == nil {
		return
	}
	g.noteWait(placement.NoteResources, j.N, needsText(j.Proposal), j.AskedAt, now)
	j.Door, j.Fence, j.FenceEnd = doorOpen, e.Fence-1, e.Fence+e.Fences-1
	j.QueuedAt, j.queued = now, true
	g.queue.push(j)
	g.queue.unblock()
}

func (e NotAdmitted) apply(g *Group, now time.Time) {
	if j := g.asking(e.Job, e.Ask); j != nil {
		j.Door = doorClosed
		g.countDoor(j)
		g.finish(j, StateFailed, e.Reason, now)
	}
}

func (e AdmissionLost) apply(g *Group, now time.Time) {
	if j := g.job(e.Job); j != nil && j.Door == doorOpen && j.Ask == e.Ask {
		g.note(placement.Ended, placement.NoteGrantLost, j.N, e.Reason, 0)
		g.cancel(j, "its resources were given to another: "+e.Reason, now)
	}
}

func (e KeysClaimed) apply(g *Group, now time.Time) {
	if g.phase != PhaseClaiming {
		return
	}
	if g.begun {
		g.reclaimed(e, now)
		return
	}
	g.leaveOut(e)
	g.fence, g.fenceEnd = e.Fence-1, e.Fence+e.Fences-1
	g.beginDispatch(now)
}

func (e ClaimsRefused) apply(g *Group, now time.Time) {
	if g.phase != PhaseClaiming {
		return
	}
	if g.begun {
		g.stop(stopWindow, "the claims were refused: "+e.Reason, now)
		return
	}
	g.detect.Failed = "the claims were refused: " + e.Reason
	g.failDetection()
}

func (e FencesGranted) apply(g *Group, _ time.Time) {
	g.wantsFences = false
	if last := e.Fence + e.Fences - 1; last > g.fenceEnd {
		g.fence, g.fenceEnd = max(g.fence, e.Fence-1), last
	}
	g.queue.unblock()
}

func (e Renewed) apply(g *Group, _ time.Time) {
	if j := g.job(e.Job); j != nil && j.Door == doorOpen && j.Ask == e.Ask {
		j.Fence, j.FenceEnd = e.Fence-1, e.Fence+e.Fences-1
	}
}

// hasFence makes sure that the next attempt of the job can get a fence.
func (g *Group) hasFence(j *job) bool {
	if g.fenceEnd == 0 || g.fence < g.fenceEnd || j.Door == doorOpen {
		return true
	}
	if !g.wantsFences {
		g.wantsFences = true
		g.decide(MoreFences{})
	}
	return false
}

// nextFence is greater than every fence that anybody got for the same key or
// object before.
func (g *Group) nextFence(j *job) int64 {
	if j.Door == doorOpen {
		j.Fence++
		return j.Fence
	}
	g.fence++
	return g.fence
}

// DedupeKeys lists the keys of the jobs and their numbers; jobs without a key
// are left out, and those that have ended.
func (g *Group) DedupeKeys() (keys []string, jobs []int) {
	for _, j := range g.jobs {
		if j.State.Final() {
			continue
		}
		for _, key := range j.keys() {
			keys, jobs = append(keys, key), append(jobs, j.N)
		}
	}
	return keys, jobs
}

// Deduped lists the first proposals that other groups are at already.
func (g *Group) Deduped() []Deduped { return g.deduped }

// needsText says for people what a job needs.
func needsText(p jobtype.Proposal) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(p.Resources)) {
		parts = append(parts, fmt.Sprintf("%d of pool %s", p.Resources[name], name))
	}
	for _, object := range p.Exclusive {
		parts = append(parts, "object "+object)
	}
	for _, object := range p.Shared {
		parts = append(parts, "object "+object+" (shared)")
	}
	return strings.Join(parts, ", ")
}
