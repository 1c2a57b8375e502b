package explain

import "github.com/roundsman/roundsman/contract"

// Phases sets the texts of the phases of a job group.
func Phases(phases []contract.GroupPhase) {
	for i, phase := range phases {
		phases[i].Text = phaseText(phase)
	}
}

func phaseText(phase contract.GroupPhase) string {
	switch contract.Code(phase.Code) { //nolint:exhaustive // the codes of a group that waits
	case contract.CodeWindowClosed:
		return "waiting for its window"
	case contract.CodeAfter:
		return "waiting for a success of another job type"
	case contract.CodeLaneBusy:
		return "waiting for its turn in the lane"
	case contract.CodeNoWorker, contract.CodeFleetRecovering:
		return "waiting for a worker"
	case contract.CodeNotBefore:
		return "waiting for not_before"
	case contract.CodePaused:
		return "paused"
	}
	switch phase.Phase {
	case "dispatching":
		return "running jobs"
	case "claiming":
		return "claiming keys"
	case "preparing":
		return "looking up workers"
	}
	return phase.Phase
}
