package explain

import (
	"fmt"

	"github.com/roundsman/roundsman/contract"
)

// Kept is a job that a retry does not execute again.
type Kept struct {
	JobType, Key, State string
	Why                 contract.KeptReason
	// By is the run that holds the key, or that did the work.
	By   string
	Hold *contract.AdmissionHold
}

// String returns the reason and the remedy, if there is one.
func (k Kept) String() string {
	switch k.Why {
	case contract.KeptDone:
		return "it was done"
	case contract.KeptRetried:
		return "a retry did it: " + k.By
	case contract.KeptNotChosen:
		return fmt.Sprintf("it is %s, which was not chosen", k.State)
	case contract.KeptClaimed:
		return "the same work is active in " + k.By
	case contract.KeptHeldBack, contract.KeptMarkedDone:
		return k.held()
	case contract.KeptNoProposal:
		return "its run kept no proposal: `roundsman start " + k.JobType + "` detects again"
	case contract.KeptOverLimit:
		if k.Key == "" { // A second retry cannot know which jobs without a key the first one did.
			return "one run does not take so many: retry it by its number; without a dedupe key, a retry of all begins with the same jobs again"
		}
		return "one run does not take so many: retry again when the new run has ended"
	}
	return string(k.Why)
}

func (k Kept) held() string {
	if k.Hold == nil {
		return string(k.Why)
	}
	lift := "roundsman resume " + k.JobType + ":" + k.Hold.DedupeKey
	if k.Hold.DedupeKey == "" {
		lift = "roundsman resume --kind budget " + k.JobType
	}
	return fmt.Sprintf("%s: `%s`", k.Hold, lift)
}
