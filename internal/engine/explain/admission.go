package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/internal/lib/lists"
)

func (f Facts) admission(wait contract.WaitReason, workflow string, plain []Reason) []Reason {
	switch {
	case f.NoAdmission:
		return []Reason{reason(contract.CodeRecovering, "", wait.Since, time.Time{}, "admission is not running: the control plane starts it within seconds, and it grants nothing until all runs have reported their grants")}
	case f.Admission == nil:
	case f.Admission.Recovering && f.Admission.Unlisted != "":
		return []Reason{reason(contract.CodeRecovering, "", wait.Since, time.Time{}, "admission was restarted and cannot list the runs that hold something. It tries again: "+f.Admission.Unlisted)}
	case f.Admission.Recovering:
		return []Reason{reason(contract.CodeRecovering, strings.Join(f.Admission.Expected, ", "), wait.Since, time.Time{}, "admission was restarted and grants nothing until all runs have reported their grants")}
	case contract.Code(wait.Code) == contract.CodeLaneBusy:
		return f.laneBusy(wait, workflow, plain)
	case contract.Code(wait.Code) == contract.CodeResources:
		if held := f.resources(wait.Object, workflow); len(held) > 0 {
			return held
		}
	}
	return plain
}

func (f Facts) laneBusy(wait contract.WaitReason, workflow string, plain []Reason) []Reason {
	for _, lane := range f.Admission.Lanes {
		if lane.Name != wait.Object || lane.Holder == nil || lane.Holder.WorkflowID == workflow {
			continue // The run itself has been granted the lane since its answer.
		}
		others := lists.Count(lane.Waiting, func(use contract.AdmissionUse) bool { return use.WorkflowID != workflow })
		detail := fmt.Sprintf("held by %s since %s", lane.Holder.WorkflowID, stamp(lane.Holder.Since))
		switch others {
		case 0:
		case 1:
			detail += "; 1 other waits"
		default:
			detail += fmt.Sprintf("; %d others wait", others)
		}
		busy := reason(contract.CodeLaneBusy, lane.Name, wait.Since, wait.Until, detail).
			with(or(lookAt(lane.Holder.WorkflowID, ""), about(action.CancelRun, "run", lane.Holder.WorkflowID)))
		busy.Holder = &Holder{Run: lane.Holder.WorkflowID}
		return []Reason{busy}
	}
	return plain
}

func (f Facts) resources(item, workflow string) []Reason {
	var reasons []Reason
	for _, pool := range f.Admission.Pools {
		if use := waitingUse(pool.Waiting, item, workflow); use != nil && pool.Used+use.N > pool.Size {
			full := reason(contract.CodePoolFull, pool.Name, use.Since, time.Time{},
				fmt.Sprintf("it needs %d; %d of %d are in use by %s", use.N, pool.Used, pool.Size, names(pool.Holders)))
			full.Holder = firstOf(pool.Holders)
			reasons = append(reasons, full)
		} else if ahead, n := keptFor(pool.Waiting, use); n > 0 && pool.Used+n+use.N > pool.Size {
			reasons = append(reasons, reason(contract.CodePoolFull, pool.Name, use.Since, time.Time{},
				fmt.Sprintf("it needs %d; %d of %d are in use, the rest is kept for %s, which waited longer", use.N, pool.Used, pool.Size, ahead)))
		}
	}
	for _, object := range f.Admission.Objects {
		if use := waitingUse(object.Waiting, item, workflow); use != nil && len(object.Holders) > 0 {
			claimed := reason(contract.CodeClaimHeld, object.Name, use.Since, time.Time{}, heldBy(object, *use)).with(held(object.Holders[0]))
			claimed.Holder = firstOf(object.Holders)
			reasons = append(reasons, claimed)
		} else if ahead, _ := keptFor(object.Waiting, use); ahead != "" {
			reasons = append(reasons, reason(contract.CodeClaimHeld, object.Name, use.Since, time.Time{}, "free, and kept for "+ahead+", which waited longer").with(or(lookAt(workflow, ""))))
		}
	}
	return reasons
}

func firstOf(holders []contract.AdmissionUse) *Holder {
	if len(holders) == 0 {
		return nil
	}
	return &Holder{Run: holders[0].WorkflowID, Item: holders[0].For}
}

// held returns the remedy for a claim: wait for its first holder, or cancel it.
func held(holder contract.AdmissionUse) Remedy {
	if holder.For == "" {
		return or(lookAt(holder.WorkflowID, ""), about(action.CancelRun, "run", holder.WorkflowID))
	}
	return or(lookAt(holder.WorkflowID, holder.For), action.New(action.CancelItem, action.Args{"run": holder.WorkflowID, "item": holder.For}))
}

// heldBy names the holders that block a claim. A shared claim may wait although all holders
// share the object: behind an exclusive one that was overtaken too often, for which the object
// is reserved.
func heldBy(object contract.AdmissionThing, use contract.AdmissionUse) string {
	exclusive := func(u contract.AdmissionUse) bool { return !u.Shared }
	if !use.Shared || slices.ContainsFunc(object.Holders, exclusive) {
		return "held by " + names(object.Holders)
	}
	var ahead []contract.AdmissionUse
	for _, other := range object.Waiting {
		if !other.Shared {
			ahead = append(ahead, other)
		}
	}
	return fmt.Sprintf("held, shared, by %s; kept for %s, which waited longer and needs it alone", names(object.Holders), names(ahead))
}

// keptFor names other waiting runs with a reservation, and its amount; "" if use does not wait.
func keptFor(waiting []contract.AdmissionUse, use *contract.AdmissionUse) (ahead string, n int) {
	if use == nil {
		return "", 0
	}
	var others []contract.AdmissionUse
	for _, other := range waiting {
		if other.Kept && (other.WorkflowID != use.WorkflowID || other.ID != use.ID) {
			others, n = append(others, other), n+other.N
		}
	}
	return names(others), n
}

func waitingUse(waiting []contract.AdmissionUse, item, workflow string) *contract.AdmissionUse {
	for i := range waiting {
		if waiting[i].WorkflowID == workflow && waiting[i].ID == item {
			return &waiting[i]
		}
	}
	return nil
}

// TextNeeds lists the resources of an item. budget means that its retry budget is awaited.
func TextNeeds(pools map[string]int, exclusive, shared []string, budget bool) string {
	parts := lists.Map(slices.Sorted(maps.Keys(pools)), func(name string) string { return fmt.Sprintf("%d of pool %s", pools[name], name) })
	for _, object := range exclusive {
		parts = append(parts, "object "+object)
	}
	for _, object := range shared {
		parts = append(parts, "object "+object+" (shared)")
	}
	if len(parts) == 0 && budget {
		return "the answer that it is not disabled"
	}
	return strings.Join(parts, ", ")
}
