package dispatch

import (
	"encoding/json"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// Decision is something to be done. The set is closed.
type Decision interface{ decision() }

// StartDetection runs a detection on that worker. Pages carry Attempt.
type StartDetection struct {
	Attempt      int
	ID, Instance string
	// Timeout is detection_timeout, capped by the time left.
	Timeout time.Duration
}

// CancelDetection ends the running detection.
type CancelDetection struct{ Attempt int }

// StartJob starts an attempt of a job.
type StartJob struct {
	Job, Attempt int
	// Bytes estimates what it carries.
	Bytes int
	// ID and Instance name the worker; empty with routing shared.
	ID, Instance string
	Proposal     *jobtype.Proposal
	// Batch lists what the job stands for, at least one; nil in a job type
	// without batches.
	Batch      []jobtype.BatchItem
	Checkpoint json.RawMessage
	Fence      int64
	// Timeout bounds the attempt on the worker.
	Timeout time.Duration
}

// CancelJob ends the running attempt of a job.
type CancelJob struct {
	Job, Attempt int
	Reason       string
}

// ForgetJob stops waiting for the end of an attempt: it was canceled and its
// handler does not stop.
type ForgetJob struct{ Job, Attempt int }

// ClaimKeys claims the dedupe keys of all jobs, see [Group.DedupeKeys]. The
// answer is [KeysClaimed] or [ClaimsRefused].
type ClaimKeys struct{}

// Acquire asks for what a job needs beside a worker: its pools and objects. Ask
// tells several asks of one job apart. The answer is [Admitted] or
// [NotAdmitted], however long it takes; [GiveUp] takes it back.
type Acquire struct {
	Job, Ask int
	Proposal *jobtype.Proposal
}

// GiveUp gives back what [Acquire] asked for, granted or not.
type GiveUp struct{ Job, Ask int }

// MoreFences asks for another range of fences. The answer is [FencesGranted].
type MoreFences struct{}

// ProbeWorker asks whether a worker that lost a job still beats.
type ProbeWorker struct{ ID, Instance string }

// WatchFleet asks to be told of changes of the fleet from now on.
type WatchFleet struct{}

// End says that the group is over.
type End struct {
	Outcome Outcome
	Reason  string
}

func (StartDetection) decision()  {}
func (CancelDetection) decision() {}
func (StartJob) decision()        {}
func (CancelJob) decision()       {}
func (ForgetJob) decision()       {}
func (ProbeWorker) decision()     {}
func (WatchFleet) decision()      {}
func (ClaimKeys) decision()       {}
func (Acquire) decision()         {}
func (GiveUp) decision()          {}
func (MoreFences) decision()      {}
func (End) decision()             {}

// Outcome is how a group ended.
type Outcome string

// The outcomes of a group. They are the wire's.
const (
	OutcomeCompleted Outcome = "completed"
	OutcomePartial   Outcome = "partial"
	OutcomeFailed    Outcome = "failed"
	OutcomeTimeout   Outcome = "timeout"
	OutcomeCanceled  Outcome = "canceled"
	OutcomeSkipped   Outcome = "skipped"
)
