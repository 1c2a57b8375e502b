package group

import (
	"fmt"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/carry"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/jobtype"
)

// Event is an event that only a group takes: one of the types below.
type Event interface{ apply(g *Group, now time.Time) }

func (g *Group) apply(now time.Time, event source.Event) {
	switch e := event.(type) {
	case run.Event:
		g.engine.Apply(now, e)
		if _, changed := e.(run.WorkersChanged); changed {
			g.workersChanged(now)
		}
	case source.Paused:
		g.engine.Pause(now, e.By, e.Note)
	case source.Resumed:
		g.endPause(now)
	case source.Canceled:
		g.cancel(e.Reason, now)
	case source.CancelItem:
		g.endJobs(e, now)
	case source.LaneReported:
		g.lane.Note(e.Report)
	case Event:
		e.apply(g, now)
	default:
		panic(fmt.Sprintf("group: %T is no event", event))
	}
}

// Submitted is the work of a group without a detection. It is the first event of such a group and counts once.
//
// A person wants this work. So a proposal that is refused for a limit, or for a key of another group, keeps the group
// from being completed, unlike after a detection.
type Submitted struct {
	Proposals []jobtype.Proposal
	// BatchKeys are as in a [Page].
	BatchKeys []string
	// Pages and Duplicates are as in a [contract.Submission].
	Pages      []contract.ProposalPage
	Duplicates int
}

// WindowsKnown answers [AskWindows].
type WindowsKnown struct{ Windows contract.WindowsResult }

// WindowsFailed has the fault of the calendars: the window stays closed.
type WindowsFailed struct{ Reason string }

// SuccessesKnown answers [LookSuccesses]. Without an answer the next lookup comes later.
type SuccessesKnown struct{ Last map[string]time.Time }

// Succeeded reports a success of another job type.
type Succeeded struct{ contract.SucceededSignal }

// Released starts a group that waits for its window or for other job types.
type Released struct{}

// CalendarSet means that the calendars were replaced; Windows: there are some.
type CalendarSet struct{ Windows bool }

// Prepared answers [Prepare]. Carried replaces [Config.Carried], if a newer record was
// found; nil: it holds.
type Prepared struct {
	Workers    []contract.WorkerView
	Incomplete bool // see [run.WorkersChanged]
	Carried    []carry.Checkpoint
}

// PrepareFailed has the cause of a failed lookup of the workers.
type PrepareFailed struct{ Reason string }

// TurnGranted begins the group's turn.
type TurnGranted struct{ Fence, Fences int64 }

// TurnRefused means that the group will not get its turn.
type TurnRefused struct {
	Code   contract.Code
	Reason string
}

// TurnLost means that another holder has the turn, or the claims.
type TurnLost struct{ Reason string }

// DetectionEnded is the end of an attempt of the detection.
type DetectionEnded struct {
	Attempt int
	// Failure is empty for a success.
	Failure run.Failure
	Message string
	// Pages is how many pages the detector sent, Emitted how many proposals it had,
	// Surplus, Duplicates and Invalid those that did not travel. More: more was found
	// than Emitted counts.
	Pages, Emitted, Surplus, Duplicates, Invalid int
	More                                         bool
	InvalidErrors                                []string
	// Explanations are the detector's lines about the detection.
	Explanations []string
	// Proposals are all that there are, where no page was sent. BatchKeys are as in a
	// [Page].
	Proposals []jobtype.Proposal
	BatchKeys []string
}

// KeysClaimed answers [ClaimKeys]. Active are the keys that other groups hold,
// HeldBack those that may not start.
type KeysClaimed struct {
	Active        []Active
	HeldBack      []HeldBack
	Fence, Fences int64
}

// Active is a key of a job that another group holds.
type Active struct {
	Job     int
	Key, By string
}

// ClaimsRefused means that no keys can be claimed.
type ClaimsRefused struct {
	Code   contract.Code
	Reason string
}

// PolicySet replaces the policy of the running group.
type PolicySet struct{ Policy jobtype.Policy }

// BudgetSet sets whether failed attempts are counted from now on.
type BudgetSet struct{ Counts bool }

// KeyStopped disables the key of a job from now on. A running job continues; a job that waits for another attempt ends.
// If the key was marked as done (Done), none of its jobs starts.
type KeyStopped struct {
	DedupeKey string
	Done      bool
	Reason    string
}

// TypeStopped disables the job type from now on: running jobs continue, no others start.
type TypeStopped struct {
	Code   contract.Code
	Reason string
}
