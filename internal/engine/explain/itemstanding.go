package explain

import (
	"slices"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
)

// ItemStandingFacts are the facts that determine the standing of a job or task.
type ItemStandingFacts struct {
	Open  bool
	Job   bool
	Kind  string
	State string
	Wait  string
}

// ItemStanding is derived from the state of a job or task.
type ItemStanding struct {
	// State is the item's own state, except for a running item that waits: needs_approval or
	// waiting.
	State string `json:"state"`
	Role  Role   `json:"role" enum:"failed,timeout,person,waiting,running,done,skipped,upstream,canceled,plan,unknown"`
	Ended bool   `json:"ended"`
	// OnWorker means that a worker executes it, so it has attempts and output.
	OnWorker bool `json:"on_worker"`
	// Operations are the ids of the operations allowed in this state.
	Operations []string `json:"operations"`
}

// ItemStandingOf returns the standing of a job or task.
func ItemStandingOf(f ItemStandingFacts) ItemStanding {
	state, role := itemState(f)
	return ItemStanding{State: state, Role: role, Ended: EndedState(f.State), OnWorker: onWorker(f.Kind), Operations: itemOperations(f)}
}

// NeedsApproval is the standing of a task that waits for an operator.
const NeedsApproval = "needs_approval"

func itemState(f ItemStandingFacts) (string, Role) {
	if f.Open && f.State == contract.JobRunning {
		switch {
		case approvable(f):
			return NeedsApproval, RolePerson
		case f.Kind == string(spec.KindSleep):
			return RunWaiting, RolePlan
		case f.Wait != "":
			return RunWaiting, RoleWaiting
		}
	}
	return f.State, ItemRole(f.State)
}

// TaskRole returns the role of a task of this kind. A running approval needs a person.
func TaskRole(kind, state string) Role {
	if kind == string(spec.KindApproval) && state == contract.JobRunning {
		return RolePerson
	}
	return ItemRole(state)
}

// ItemRole returns the role of a job or task in this state.
func ItemRole(state string) Role {
	switch state {
	case dag.Failed.String(), contract.JobStale:
		return RoleFailed
	case contract.JobExpired:
		return RoleTimeout
	case contract.JobHeld, contract.JobWarning:
		return RolePerson
	case contract.JobRecalling:
		return RoleWaiting
	case contract.JobRunning:
		return RoleRunning
	case contract.JobCompleted:
		return RoleDone
	case dag.Skipped.String():
		return RoleSkipped
	case dag.UpstreamFailed.String():
		return RoleUpstream
	case contract.JobCanceled:
		return RoleCanceled
	case contract.JobPending, contract.JobAssigned, dag.Ready.String():
		return RolePlan
	}
	return RoleUnknown
}

func approvable(f ItemStandingFacts) bool {
	return f.Wait == string(contract.CodeApproval) || f.Kind == string(spec.KindApproval) && f.State == contract.JobRunning
}

// EndedState reports whether the state of a job or task is final.
func EndedState(state string) bool {
	switch state {
	case contract.JobWarning, contract.JobStale, contract.JobExpired, contract.JobNotStarted:
		return true
	}
	return slices.ContainsFunc(dag.States(), func(s dag.State) bool { return s.Terminal() && s.String() == state })
}

func onWorker(kind string) bool {
	switch spec.Kind(kind) { //nolint:exhaustive // all others are work
	case spec.KindApproval, spec.KindSleep, spec.KindNoop, spec.KindFanOut:
		return false
	}
	return true
}

func itemOperations(f ItemStandingFacts) []string {
	operations := []string{}
	if !f.Open {
		return operations
	}
	may := func(when bool, operation ...string) {
		if when {
			operations = append(operations, operation...)
		}
	}
	is := func(states ...string) bool { return slices.Contains(states, f.State) }
	failed, ready := dag.Failed.String(), dag.Ready.String()
	may(approvable(f), MayApprove, MayReject)
	may(!f.Job && is(failed, contract.JobCanceled, contract.JobCompleted, contract.JobWarning), MayRerun)
	may(!f.Job && is(contract.JobPending, ready, failed, dag.UpstreamFailed.String(), contract.JobCanceled), MaySkip)
	may(!EndedState(f.State), MayCancelItem)
	may(f.Job && is(contract.JobRunning), MayExpire)
	return operations
}
