package dispatch

import (
	"encoding/json"
	"time"

	"github.com/roundsman/roundsman/internal/placement"
	"github.com/roundsman/roundsman/jobtype"
)

// Event is something that happened. The set is closed.
type Event interface{ apply(g *Group, now time.Time) }

// Tick says that time has passed: [Group.NextWake] was reached.
type Tick struct{}

func (Tick) apply(*Group, time.Time) {}

// WorkersChanged replaces the view of the fleet.
type WorkersChanged struct{ Workers []Worker }

// WorkerProbed answers a [ProbeWorker] decision.
type WorkerProbed struct {
	ID, Instance string
	Alive        bool
	// BeatAt is the time of its last heartbeat, by its own clock, zero if that is
	// not known; Used how many slots it used then.
	BeatAt time.Time
	Used   int
}

// WorkerHasRoom says that a worker which sent a job back has a free slot.
type WorkerHasRoom struct {
	ID, Instance string
	Load         placement.Report
}

// DetectionEnded says that the detection of that attempt came to its end.
type DetectionEnded struct {
	Attempt int
	// Failure is empty for a success.
	Failure Failure
	Message string
	// Pages is how many pages the detector sent, Emitted how many proposals it
	// had, Surplus, Duplicates and Invalid those that did not travel.
	Pages, Emitted, Surplus, Duplicates, Invalid int
	// More: more was found than Emitted counts.
	More          bool
	InvalidErrors []string
}

// Failure says why an attempt failed; empty means that it succeeded.
type Failure = placement.Failure

// The failures of an attempt. They are the wire's.
const (
	FailureNone        = placement.FailureNone
	FailureFailed      = placement.FailureFailed
	FailurePermanent   = placement.FailurePermanent
	FailureStale       = placement.FailureStale
	FailureTimeout     = placement.FailureTimeout
	FailureCanceled    = placement.FailureCanceled
	FailureAtCapacity  = placement.FailureAtCapacity
	FailureDraining    = placement.FailureDraining
	FailureUnsupported = placement.FailureUnsupported
	FailureWorkerLost  = placement.FailureWorkerLost
	FailureNotTaken    = placement.FailureNotTaken
)

// JobEnded says that an attempt of a job ended, as the server tells it.
type JobEnded struct {
	// Job counts from 1, in the order of detection.
	Job, Attempt int
	Ending       Ending
}

// Ending is how an attempt ended.
type Ending struct {
	Failure Failure
	Message string
	// Unheard: the server ended the attempt by itself, and its worker may still
	// tell how it really ended. Of a worker that was lost that is always so.
	Unheard bool
	// Checkpoint is the last one known, for the next attempt.
	Checkpoint json.RawMessage
	// Done is how much of the job that stands for, in percent; 0: nobody knows.
	Done float64
	// Worker that ran the attempt, and which incarnation of it; empty if that is
	// not known.
	Worker, Instance string
	// Load is what the worker says that it runs for others.
	Load placement.Report

	Duration time.Duration
}

// OutcomeDelivered is an ending that a worker delivered by itself, because the
// server had given up its attempt. It counts only while the job waits for it.
type OutcomeDelivered struct {
	Job, Attempt int
	// Fence is that of the attempt; 0: unknown.
	Fence  int64
	Ending Ending
}

// KeysClaimed answers [ClaimKeys]. Active are the jobs whose keys others hold,
// by number, ascending; By names the holders, one for each. HeldBack are those
// whose keys are held back.
type KeysClaimed struct {
	Active []int
	By     []string
	// Keys are the ones that are active, one for each of Active: a batch has
	// several.
	Keys          []string
	HeldBack      []HeldBack
	Fence, Fences int64
}

// ClaimsRefused says that nothing can be claimed.
type ClaimsRefused struct{ Reason string }

// Admitted answers [Acquire]: the job has its resources.
type Admitted struct {
	Job, Ask      int
	Fence, Fences int64
}

// NotAdmitted says that the job will never get its resources.
type NotAdmitted struct {
	Job, Ask int
	Reason   string
}

// AdmissionLost says that somebody else has what the job was granted.
type AdmissionLost struct {
	Job, Ask int
	Reason   string
}

// FencesGranted answers [MoreFences].
type FencesGranted struct{ Fence, Fences int64 }

// Renewed replaces the fences of a job that has its resources: the group was reset,
// and may have used the others in the time that it has forgotten.
type Renewed struct {
	Job, Ask      int
	Fence, Fences int64
}

// JobCanceled is an operator's wish. Job is 0 if the dedupe key names it.
type JobCanceled struct {
	Job       int
	DedupeKey string
	Reason    string
}

// JobExpired is an operator's wish too: the job ends now, whatever its handler
// does. Job is 0 if the dedupe key names it.
type JobExpired struct {
	Job       int
	DedupeKey string
	Reason    string
}

// GroupCanceled is an operator's wish.
type GroupCanceled struct{ Reason string }

// Paused keeps new jobs from starting, and max_runtime from running out, until
// Resumed.
type Paused struct{ By, Note string }

// Resumed ends a pause.
type Resumed struct{}

// PolicySet replaces the policy of the running group.
type PolicySet struct{ Policy jobtype.Policy }

// BudgetSet says whether somebody counts failed attempts from now on, see
// [ReportEndings].
type BudgetSet struct{ Counts bool }
