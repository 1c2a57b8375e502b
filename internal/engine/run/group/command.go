package group

import (
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/endings"
	"github.com/roundsman/roundsman/jobtype"
)

// Commands of a group, besides [run.Decision] and those of package source.

// AskWindows requests the openings of the calendars from now on. The answer is
// [WindowsKnown] or [WindowsFailed].
type AskWindows struct{}

// LookSuccesses looks up when the job types of [Config.After] succeeded last. The answer is
// [SuccessesKnown].
type LookSuccesses struct{ JobTypes []string }

// Prepare looks up the workers and the runs that left no record. The answer is
// [Prepared] or [PrepareFailed].
type Prepare struct{}

// TakeTurn requests the group's turn. Turn is part of the request's name, so that a late answer to an earlier request
// does not count. The answer is [TurnGranted] or [TurnRefused], at any later time.
//
// Round is above 0 if the lane was given back in this turn, see [LeaveLane].
type TakeTurn struct{ Turn, Round int }

// LeaveLane gives back the lane of a turn, and nothing else of it.
type LeaveLane struct{ Turn, Round int }

// LeaveTurn gives back the turn of that number and its claims, granted or not. Late counts the claims of late
// detections, Chunks are those with open jobs, Backlog is the last claim on the backlog, Rounds the further requests of
// the lane. With Unasked the group has not requested the turn; a lost workflow task may have done so.
type LeaveTurn struct {
	Turn, Late, Rounds int
	Backlog            int
	Chunks             []int
	Unasked            bool
}

// Unwatch ends the subscription to the fleet.
type Unwatch struct{}

// StartDetection runs a detection on that worker. Pages carry Attempt.
type StartDetection struct {
	Attempt      int
	ID, Instance string
	// Timeout is detection_timeout, capped by the time left.
	Timeout time.Duration
	// Inline: findings that fit into one small page come with [DetectionEnded].
	Inline bool
	// KeyedInGroup is the number of proposals with a key that the group itself takes; 0: all.
	KeyedInGroup int
}

// CancelDetection ends the running detection.
type CancelDetection struct{ Attempt int }

// ClaimKeys claims the dedupe keys of all open jobs, see [Group.Claims]. Late is the number
// of the claim of late detections; 0: it is none. The answer is [KeysClaimed] or [ClaimsRefused].
type ClaimKeys struct{ Turn, Late int }

// ReportEndings reports the ends of jobs to admission.
type ReportEndings struct{ endings.Endings }

// StartJob is a [run.Decision] of the kind Start with the data of its job.
type StartJob struct {
	run.Decision

	Proposal *jobtype.Proposal
	// Ref is the place of the proposal in a page. It is nil if the group has the whole proposal.
	Ref *contract.ProposalRef
	// Batch lists the proposals of the job, at least one; nil in a job type without batches.
	Batch []jobtype.BatchItem
}

// End is the end of the group.
type End struct {
	Outcome Outcome
	Reason  string
}
