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
	Ended bool `json:"ended"`
	// OnWorker means that a worker executes it, so it has attempts and output.
	OnWorker bool `json:"on_worker"`
	// Operations are the ids of the operations allowed in this state.
	Operations []string `json:"operations"`
}

// ItemStandingOf returns the standing of a job or task.
func ItemStandingOf(f ItemStandingFacts) ItemStanding {
	return ItemStanding{Ended: EndedState(f.State), OnWorker: onWorker(f.Kind), Operations: itemOperations(f)}
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
	may(f.Wait == string(AwaitingApproval) || f.Kind == string(spec.KindApproval) && is(contract.JobRunning), MayApprove, MayReject)
	may(!f.Job && is(failed, contract.JobCanceled, contract.JobCompleted, contract.JobWarning), MayRerun)
	may(!f.Job && is(contract.JobPending, ready, failed, dag.UpstreamFailed.String(), contract.JobCanceled), MaySkip)
	may(!EndedState(f.State), MayCancelItem)
	may(f.Job && is(contract.JobRunning), MayExpire)
	return operations
}
