package retry

import (
	"encoding/json"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/backlog"
)

// Facts have the state of keys at the time of a retry. Without a control plane Holds and Claims
// are empty: the new run checks both again.
type Facts struct {
	// Retried has the retry that did the work of a key.
	Retried map[string]string
	// Holds has the hold of a key; that of the empty key holds back the job type.
	Holds map[string]contract.AdmissionHold
	// Claims has the open run that has a key.
	Claims map[string]contract.AdmissionUse
	// Spec is the specification of the job type. MostJobs is the most proposals of one run.
	Spec     contract.JobTypeSpec
	MostJobs int
}

// Decide divides units into those that are executed again and those that are not.
func Decide(units []Unit, facts Facts) (again []Unit, kept []Kept, err error) {
	var share backlog.Share
	full := false
	for _, unit := range units {
		if reason, is := facts.keeps(unit); is {
			kept = append(kept, reason)
			continue
		}
		encoded, err := json.Marshal(unit.Proposal)
		if err != nil {
			return nil, nil, err
		}
		share.Add(facts.Spec, unit.Proposal, len(encoded)+len(","))
		if full = full || len(again) >= facts.MostJobs || share.Full(); full {
			kept = append(kept, Kept{Job: unit.Job, Why: contract.KeptOverLimit})
			continue
		}
		again = append(again, unit)
	}
	return again, kept, nil
}

// keeps returns the reason to keep a unit back. Only keyed work is found in other runs.
func (f Facts) keeps(unit Unit) (Kept, bool) {
	kept := Kept{Job: unit.Job}
	hold, held := f.Holds[unit.DedupeKey]
	if ofType, all := f.Holds[""]; all {
		hold, held = ofType, true
	}
	by, retried := f.Retried[unit.DedupeKey]
	use, claimed := f.Claims[unit.DedupeKey]
	keyed := unit.DedupeKey != ""
	switch {
	case keyed && retried:
		kept.Why, kept.By = contract.KeptRetried, by
	case held:
		kept.Why, kept.Hold = contract.KeptHeldBack, &hold
		if hold.Code == contract.HoldMarkedDone {
			kept.Why = contract.KeptMarkedDone
		}
	case keyed && claimed:
		kept.Why, kept.By = contract.KeptClaimed, use.WorkflowID
	}
	return kept, kept.Why != ""
}
