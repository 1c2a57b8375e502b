package dispatch

import (
	"fmt"
	"time"

	"github.com/roundsman/roundsman/internal/placement"
	"github.com/roundsman/roundsman/jobtype"
)

// Note is one decision of the group that refused or delayed work.
type Note = placement.Note

// wholeGroup is the subject of notes about the group as a whole.
const wholeGroup = -1

// Notes returns what was refused or delayed since it was called last, for the
// audit log. They are not part of the state: whoever steps the group takes them
// after every step.
func (g *Group) Notes() []Note { return g.notes.Take() }

func (g *Group) note(verdict placement.Verdict, code placement.NoteCode, job int, detail string, waited time.Duration) {
	g.notes.Add(Note{Verdict: verdict, Code: code, Subject: job, Detail: detail, Waited: waited})
}

// noteWait notes a delay that is over, if it was noticeable.
func (g *Group) noteWait(code placement.NoteCode, job int, detail string, since, now time.Time) {
	if waited := now.Sub(since); !since.IsZero() && waited >= placement.Noticeable {
		g.note(placement.Delayed, code, job, detail, waited)
	}
}

// noteFinal notes an end that the group decided, not the handler.
func (g *Group) noteFinal(j *job, state State, message string) {
	switch state {
	case StateExpired:
		g.note(placement.Refused, placement.NoteExpired, j.N, message, 0)
	case StateNotStarted:
		if j.Late {
			g.note(placement.Refused, placement.NoteWindowFit, j.N, message, 0)
			return
		}
		g.note(placement.Refused, placement.NoteNotStarted, j.N, message, 0)
	case StateStale:
		g.note(placement.Ended, placement.NoteStale, j.N, message, 0)
	case StatePending, StateRunning, StateRecalling, StateHeld, StateCompleted, StateFailed, StateCanceled:
	}
}

// noteDetected notes what of a detection is not taken.
func (g *Group) noteDetected() {
	invalid := ""
	if len(g.detect.Errors) > 0 {
		invalid = g.detect.Errors[0]
	}
	for _, left := range []Note{
		{Code: placement.NoteDuplicate, Count: g.counts.Duplicates, Detail: "another proposal of the run has the same dedupe key"},
		{Code: placement.NoteSurplus, Count: g.counts.Surplus, Detail: fmt.Sprintf("more than max_jobs_per_detection (%d) or more than a group holds", g.cfg.Policy.MaxJobsPerDetection)},
		{Code: placement.NoteInvalid, Count: g.counts.Invalid, Detail: invalid},
	} {
		if left.Count > 0 && !g.cfg.DryRun {
			left.Verdict, left.Subject = placement.Refused, wholeGroup
			g.notes.Add(left)
		}
	}
}

// noteDetection notes a detection that is done again elsewhere.
func (g *Group) noteDetection(e DetectionEnded) {
	switch e.Failure {
	case FailureWorkerLost:
		g.note(placement.Replaced, placement.NoteWorkerLost, wholeGroup, "the detection: "+clip(e.Message), 0)
	case FailureAtCapacity, FailureDraining, FailureUnsupported, FailureNotTaken:
		g.note(placement.Delayed, placement.BounceCode(e.Failure), wholeGroup, "the detection: "+clip(e.Message), 0)
	case FailureNone, FailureFailed, FailurePermanent, FailureStale, FailureTimeout, FailureCanceled:
	}
}

// noteLost notes an attempt whose worker was lost, by what becomes of its job.
func (g *Group) noteLost(j *job, message string) {
	verdict := placement.Replaced
	switch policy := g.cfg.Policy; {
	case policy.OnWorkerLoss == jobtype.WorkerLossFail || j.Losses > policy.WorkerLossLimit:
		verdict = placement.Ended
	case policy.OnWorkerLoss == jobtype.WorkerLossHold:
		verdict = placement.Delayed
	}
	g.note(verdict, placement.NoteWorkerLost, j.N, message, 0)
}
