package explain

import (
	"fmt"
	"slices"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
)

// heldBack returns the reasons for holds: a job type or key that the retry budget has disabled,
// and a key marked as done.
func (f Facts) heldBack() []Reason {
	var reasons []Reason
	for _, hold := range f.Holds {
		if f.concerns(hold) {
			reasons = append(reasons, reasonOfHold(hold))
		}
	}
	return reasons
}

// concerns reports whether the hold stops the explained thing. A job matches by its key, or by a
// type disabled before its start. A run matches by its omitted proposals, or if it was not to
// start. A job type matches all its holds.
func (f Facts) concerns(hold contract.AdmissionHold) bool {
	ofType := hold.DedupeKey == ""
	_, ofTask := contract.DAGOfTasks(hold.JobType)
	switch {
	case f.Item == nil && f.Run != nil && ofTask:
		return !f.Run.Open && f.Run.Outcome != string(contract.OutcomeCompleted)
	case f.Item != nil && ofType:
		return f.Item.State == contract.JobNotStarted
	case f.Item != nil:
		return hold.DedupeKey == f.Item.Key && f.Item.State != contract.JobCompleted && f.Item.State != contract.JobWarning && f.Item.State != contract.JobRunning
	case f.Run != nil && f.Run.Open && ofType:
		return f.Run.Answer != nil && f.Run.Answer.Running == 0
	case f.Run != nil && f.Run.Open:
		return f.Run.Answer != nil && leftOut(f.Run.Answer.HeldBack, hold.DedupeKey)
	case f.Run != nil:
		return ofType && f.Run.Outcome != string(contract.OutcomeCompleted) && f.Run.Outcome != string(contract.OutcomeCanceled)
	}
	return f.Type != nil
}

func leftOut(held []contract.AdmissionHold, key string) bool {
	return slices.ContainsFunc(held, func(one contract.AdmissionHold) bool { return one.DedupeKey == key })
}

func reasonOfHold(hold contract.AdmissionHold) Reason {
	r := Reason{Code: contract.Code(hold.Code), Object: hold.JobType, Since: hold.Since, Until: hold.Until, Detail: "job type " + hold.JobType + " is " + hold.Untimed()}
	switch _, ofTask := contract.DAGOfTasks(hold.JobType); {
	case ofTask:
		r.Object, r.Detail = hold.DedupeKey, fmt.Sprintf("%s is %s", hold.Of(), hold.Untimed())
	case hold.DedupeKey != "":
		r.Object, r.Detail = hold.DedupeKey, fmt.Sprintf("proposals with key %s are left out: %s", hold.DedupeKey, hold.Untimed())
	}
	args := action.Args{"name": hold.JobType, "key": hold.DedupeKey}
	if r.Code == contract.CodeMarkedDone {
		return r.with(act(action.New(action.ForgiveKey, args)))
	}
	return r.with(Remedy{Wait: true, Hint: "repair the cause", Actions: []action.Action{action.New(action.ReEnableJobType, args)}})
}
