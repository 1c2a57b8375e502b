package explain

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/roundsman/roundsman/contract"
)

// Role is the kind of a state: it determines the color in a list.
type Role string

// The roles of the states of runs and items.
const (
	RoleFailed   Role = "failed"
	RoleTimeout  Role = "timeout"
	RolePartial  Role = "partial"
	RolePerson   Role = "person"
	RolePaused   Role = "paused"
	RoleWaiting  Role = "waiting"
	RoleRunning  Role = "running"
	RoleDone     Role = "done"
	RoleSkipped  Role = "skipped"
	RoleCanceled Role = "canceled"
	RoleUpstream Role = "upstream"
	RolePlan     Role = "plan"
)

// The states of an open run. An ended run has its outcome, or the status of its workflow.
const (
	RunRunning = "running"
	RunWaiting = "waiting"
	RunPaused  = "paused"
	RunHeld    = "held"
)

// The operations on runs and items, by their ids in the REST API.
const (
	MayCancelRun  = "cancel-run"
	MayPauseRun   = "pause-run"
	MayResumeRun  = "resume-run"
	MayReleaseRun = "release-run"
	MayRetryRun   = "retry-run"
	MayAddTasks   = "add-tasks"

	MayApprove    = "approve-item"
	MayReject     = "reject-item"
	MaySkip       = "skip-item"
	MayRerun      = "rerun-item"
	MayCancelItem = "cancel-item"
	MayExpire     = "expire-item"
)

// RunStandingFacts are the facts that determine the standing of a run.
type RunStandingFacts struct {
	DAG, Open bool
	// DryRun means that the run executed nothing.
	DryRun bool
	// Frozen means that the workflow is paused in Temporal itself.
	Frozen bool
	// Status is the status of the workflow, for a closed run without an outcome.
	Status  string
	Outcome contract.Outcome
	// Paused and the next ones are reported by an open run.
	Paused              bool
	PauseNote, PausedBy string
	Phase, Waiting      string
	Running             int
	// Wait is the wait of most jobs of a group; nil without one.
	Wait             *contract.WaitReason
	Failed, Warnings int
	// Reason explains the outcome; Failure explains its absence.
	Reason, Failure string
	// Code is the code at the beginning of Reason, Failure or Waiting; empty without one.
	Code contract.Code
}

// RunStanding is the state of a run with its cause and the allowed operations.
type RunStanding struct {
	State string `json:"state"`
	Role  Role   `json:"role" enum:"failed,timeout,partial,person,paused,waiting,running,done,skipped,canceled,unknown"`
	Open  bool   `json:"open"`
	// Cause may be empty. Code is its code, if any.
	Cause string `json:"cause,omitempty"`
	// Runs are the runs and items that Cause names, in its order.
	Runs []Holder `json:"runs,omitempty"`
	// Quoted means that Cause begins with the text of a person or a program.
	Quoted bool          `json:"quoted,omitempty"`
	Code   contract.Code `json:"code,omitempty"`
	// Operations are the ids of the operations allowed in this state.
	Operations []string `json:"operations"`
	// Refused are operations that come with a later state.
	Refused []Refusal `json:"refused,omitempty"`
}

// Refusal is an operation that a state does not allow. Why is the cause and the remedy.
type Refusal struct {
	Operation string `json:"operation"`
	Why       string `json:"why"`
}

// Line returns the code and the cause.
func (s RunStanding) Line() string { return coded(s.Code, s.Cause) }

func coded(code contract.Code, text string) string {
	if code == "" {
		return text
	}
	return string(code) + ": " + text
}

// uncoded returns a line without its code.
func uncoded(code contract.Code, line string) string {
	return strings.TrimPrefix(line, coded(code, ""))
}

// RunStandingOf returns the gravest state that applies.
func RunStandingOf(f RunStandingFacts) RunStanding {
	if !f.Open {
		return endedStanding(f)
	}
	standing := RunStanding{State: RunRunning, Role: RoleRunning, Open: true, Cause: uncoded(f.Code, f.Waiting), Code: f.Code}
	switch {
	case f.Frozen:
		standing.State, standing.Role, standing.Cause, standing.Code = RunPaused, RolePaused, "its workflow is paused in Temporal itself", ""
	case f.Paused:
		standing.State, standing.Role, standing.Code = RunPaused, RolePaused, ""
		standing.Cause = pauseDetail(StandingFacts{PauseNote: f.PauseNote, PausedBy: f.PausedBy})
		standing.Quoted = f.PausedBy == "" && f.PauseNote != ""
	case f.Phase == contract.PhaseHeld:
		standing.State, standing.Role = RunHeld, RolePerson
	case f.Waiting != "" && f.Running == 0:
		standing.State, standing.Role = RunWaiting, RoleWaiting
	case f.Running == 0 && f.jobsWait():
		standing.State, standing.Role, standing.Cause = RunWaiting, RoleWaiting, textJobsWait(*f.Wait)
	}
	if f.Failed > 0 {
		failed := count(f.Failed, "item") + " failed"
		if standing.Cause = strings.TrimPrefix(standing.Cause+"; "+failed, "; "); standing.Role == RoleRunning {
			standing.Role = RolePartial
		}
	}
	if standing.Operations = operationsOf(f); f.Failed > 0 && !f.DAG {
		standing.Refused = []Refusal{{MayRetryRun, retryOpen}}
	}
	return standing.withMentions()
}

// jobsWait is false while jobs are about to start, and while a detection runs.
func (f RunStandingFacts) jobsWait() bool {
	return f.Wait != nil && f.Wait.Code != string(contract.CodeStarting) && f.Wait.Code != string(contract.CodeDetecting)
}

func textJobsWait(wait contract.WaitReason) string {
	if wait.Items == 1 {
		return "1 job waits: " + wait.Detail
	}
	return fmt.Sprintf("%d jobs wait: %s", wait.Items, wait.Detail)
}

func (s RunStanding) withMentions() RunStanding {
	if !s.Quoted {
		s.Runs = RunsIn(s.Cause)
	}
	return s
}

func endedStanding(f RunStandingFacts) RunStanding {
	state := cmp.Or(string(f.Outcome), strings.ToLower(f.Status))
	if state == "timedout" {
		state = string(contract.OutcomeTimeout)
	}
	cause := cmp.Or(f.Reason, f.Failure)
	if cause == "" && f.Warnings > 0 {
		cause = count(f.Warnings, "item") + " with a warning"
	}
	standing := RunStanding{State: state, Role: roleOfOutcome(contract.Outcome(state)), Cause: uncoded(f.Code, cause), Code: f.Code, Operations: operationsOf(f)}
	standing.Quoted = f.Reason == "" && f.Failure != ""
	return standing.withMentions()
}

func roleOfOutcome(outcome contract.Outcome) Role {
	switch outcome {
	case contract.OutcomeCompleted:
		return RoleDone
	case contract.OutcomePartial:
		return RolePartial
	case contract.OutcomeTimeout:
		return RoleTimeout
	case contract.OutcomeCanceled:
		return RoleCanceled
	case contract.OutcomeSkipped:
		return RoleSkipped
	case contract.OutcomeFailed:
	}
	return RoleFailed
}

const retryOpen = "Failed jobs can be retried when the run has ended. To do it sooner, cancel the run first."

func operationsOf(f RunStandingFacts) []string {
	if !f.Open {
		if f.Outcome == contract.OutcomeCompleted || !f.DAG && (f.DryRun || f.Outcome == contract.OutcomeSkipped) {
			return []string{}
		}
		return []string{MayRetryRun}
	}
	operations := []string{}
	if f.DAG && f.Failed > 0 {
		operations = append(operations, MayRetryRun)
	}
	if f.Phase == contract.PhaseHeld {
		operations = append(operations, MayReleaseRun)
	}
	if f.Paused {
		operations = append(operations, MayResumeRun)
	} else {
		operations = append(operations, MayPauseRun)
	}
	if f.DAG {
		operations = append(operations, MayAddTasks)
	}
	return append(operations, MayCancelRun)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
