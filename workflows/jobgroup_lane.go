package workflows

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/workflows/entity"
)

const (
	// defaultPatience is for a group whose interval nobody knows.
	defaultPatience = time.Hour
	// freshFor is how long what was prepared before the lane's turn stays good.
	freshFor = 3 * time.Second
)

// laneTurn is where the group stands in its lane.
type laneTurn struct {
	askedAt time.Time
	granted bool
	grant   contract.AdmissionGrant
	refused *contract.AdmissionRefusal
	// stopped is why the group must not start anything, told before it has begun.
	stopped string
}

// hasLane reports whether the group must take a turn: dry runs change nothing
// and wait for nobody.
func (r *groupRun) hasLane() bool {
	return r.in.Spec.Lane != "" && !r.in.Spec.LaneShared && !r.in.DryRun
}

// askLane asks for the turn; the group prepares meanwhile.
func (r *groupRun) askLane() {
	r.lane.askedAt = workflow.Now(r.ctx)
	if item, needed := r.turnItem(); needed && !r.stopAsked() {
		r.link.ask(item)
		r.link.flush()
	}
}

// awaitTurn waits until it is the group's turn, until it is told or has waited
// long enough that it will not be, or somebody ends it. It returns why the group
// is skipped, or "".
func (r *groupRun) awaitTurn() (string, error) {
	if _, needed := r.turnItem(); !needed {
		return "", nil
	}
	deadline := r.laneDeadline()
	for !r.lane.granted && !r.stopAsked() {
		if opens, closed := r.closedUntil(); closed {
			return r.closedText(opens), nil
		}
		if refused := r.lane.refused; refused != nil {
			return refusalText(*refused), nil
		}
		if !deadline.IsZero() && !workflow.Now(r.ctx).Before(deadline) {
			return r.outOfPatience(), nil
		}
		r.timers.SetBy(r.ctx, entity.Earlier(deadline, entity.Earlier(r.closesAt(), r.link.repeatAt)))
		if err := workflow.Await(r.ctx, r.turnChanged); err != nil {
			return "", err
		}
		r.timers.ClearFired()
		r.collectWindow()
		r.collectAdmission()
		r.link.flush()
	}
	return "", nil
}

// turnItem is what the group asks for before it begins, if anything: its turn, or
// whether its job type may start at all.
func (r *groupRun) turnItem() (contract.AdmissionItem, bool) {
	switch budget := r.in.Spec.RetryBudget; {
	case r.in.DryRun:
	case r.hasLane():
		return contract.AdmissionItem{ID: r.turnID(itemLane), Lane: r.in.Spec.Lane, Distinct: r.adHoc(), Fences: laneFences}, true
	case budget != nil && budget.PerType != nil:
		return contract.AdmissionItem{ID: r.turnID(itemStart), Start: true, Fences: laneFences}, true
	}
	return contract.AdmissionItem{}, false
}

func refusalText(refused contract.AdmissionRefusal) string {
	if refused.Code == contract.HoldRetryBudget {
		return refused.Code + ": " + refused.String()
	}
	return strings.Trim(fmt.Sprintf("LANE_BUSY: %s: %s", refused.Code, refused.String()), ": ")
}

func (r *groupRun) outOfPatience() string {
	if !r.hasLane() {
		return fmt.Sprintf("LANE_BUSY: admission did not answer for a whole interval (%s)", r.patience())
	}
	return r.laneTooLate()
}

// stopAsked reports whether the group is to end before it has begun.
func (r *groupRun) stopAsked() bool { return r.canceled() || r.messages.cancelGroup.Len() > 0 }

func (r *groupRun) turnChanged() bool {
	return r.stopAsked() || r.messages.admission.Len()+r.messages.reassert.Len() > 0 || r.link.ready() || r.timers.Fired() || r.windowReady()
}

// skip ends the group without having done anything.
func (r *groupRun) skip(reason string) (contract.JobGroupResult, error) {
	r.auditSkip(reason)
	now := workflow.Now(r.ctx)
	info := workflow.GetInfo(r.ctx)
	result := contract.JobGroupResult{
		JobType: r.in.Spec.Name, Outcome: contract.OutcomeSkipped, Reason: reason, StartedAt: info.WorkflowStartTime, EndedAt: now,
		DurationMS: now.Sub(info.WorkflowStartTime).Milliseconds(),
	}
	result.Record = r.recordWith("", contract.RunSummary{
		WorkflowID: info.WorkflowExecution.ID, RunID: info.WorkflowExecution.RunID, Outcome: result.Outcome,
		Reason: clipReason(reason), StartedAt: result.StartedAt, EndedAt: now,
	})
	r.signSubmission(&result)
	if r.adHoc() {
		n := len(r.in.Submission.Proposals)
		result.Counts = contract.GroupCounts{Detected: n, Accepted: n, NotStarted: n}
	}
	return r.conclude(result)
}

// cutLast cuts at the last separator.
func cutLast(text, separator string) (before, after string, found bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(separator):], true
}
