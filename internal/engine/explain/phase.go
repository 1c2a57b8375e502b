package explain

import "github.com/roundsman/roundsman/contract"

// Phases sets the texts of the phases of a job group.
func Phases(phases []contract.GroupPhase) {
	for i, phase := range phases {
		phases[i].Text = phaseText(phase)
	}
}

func phaseText(phase contract.GroupPhase) string {
	switch Code(phase.Code) { //nolint:exhaustive // the codes of a group that waits
	case WindowClosed:
		return "waiting for its window"
	case AfterPending:
		return "waiting for a success of another job type"
	case LaneBusy:
		return "waiting for its turn in the lane"
	case NoWorker, FleetRecovering:
		return "waiting for a worker"
	case NotBefore:
		return "waiting for not_before"
	case Paused:
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
