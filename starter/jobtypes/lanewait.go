package jobtypes

import (
	"context"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/starter"
)

const (
	// beginWait bounds the wait for the first steps of a run that was just started.
	beginWait = 10 * time.Second
	beginPoll = 100 * time.Millisecond
)

// Begun is the state of a run that was just started.
type Begun struct {
	// Exclusive lane that the run waits for, its holder, and the number of other waiting runs.
	Lane   string `json:"lane,omitempty"`
	Behind string `json:"behind,omitempty"`
	Ahead  int    `json:"others_waiting,omitempty"`
	// Skipped is the reason of a run that has ended without its turn.
	Skipped string `json:"skipped,omitempty"`
}

// Begin waits until a run that was just started works, waits for its lane or has ended, 10s at most.
func (c Client) Begin(ctx context.Context, spec contract.JobTypeSpec, ref starter.RunRef) Begun {
	limited, cancel := context.WithTimeout(ctx, beginWait)
	defer cancel()
	for {
		begun, known := c.begun(limited, spec, ref)
		if known || rpc.Wait(limited, beginPoll) != nil {
			return begun
		}
	}
}

func (c Client) begun(ctx context.Context, spec contract.JobTypeSpec, ref starter.RunRef) (begun Begun, known bool) {
	snapshot, err := c.client.Runs().Show(ctx, ref)
	switch {
	case err != nil:
		return begun, false
	case !snapshot.Open():
		if snapshot.Outcome == contract.OutcomeSkipped && snapshot.Result != nil {
			begun.Skipped = snapshot.Result.Reason
		}
		return begun, true
	case spec.Lane == "" || spec.LaneShared:
		return begun, begins(snapshot.Group)
	}
	view, err := c.client.Admission().View(ctx, contract.AdmissionFilter{WorkflowID: ref.WorkflowID})
	if err != nil {
		return begun, false
	}
	at := slices.IndexFunc(view.Lanes, func(l contract.AdmissionLane) bool { return l.Name == spec.Lane })
	if at < 0 || view.Lanes[at].Holder == nil {
		return begun, begins(snapshot.Group) && snapshot.Group.Phase == "waiting" // It waits for another reason.
	}
	lane := view.Lanes[at]
	if lane.Holder.WorkflowID == ref.WorkflowID {
		return begun, true
	}
	return Begun{Lane: lane.Name, Behind: lane.Holder.WorkflowID, Ahead: max(lane.WaitingCount-1, 0)}, true
}

// Before begins is true, and at the end, the state of a group is about to change.
func begins(group *contract.GroupStatus) bool {
	return !looksUp(group) && group.Phase != "preparing" && group.Phase != contract.PhaseEnded && (group.Phase != "waiting" || group.Wait != nil)
}

// looksUp reports whether a group has not looked up its window and the job types that it is after.
func looksUp(group *contract.GroupStatus) bool {
	return group == nil || group.Phase == "waiting" && group.Wait != nil && group.Wait.Code == string(contract.CodeStarting)
}
