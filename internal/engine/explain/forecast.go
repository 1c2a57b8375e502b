package explain

import (
	"fmt"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// TextCondition is a rule about past successes on a tick to come.
func TextCondition(code contract.Code, object string, within jobtype.Duration) string {
	if code == contract.CodeAfter {
		return fmt.Sprintf("waits for %s, unless it has succeeded within %s", object, Setting(within.Std()))
	}
	return fmt.Sprintf("runs only if not succeeded for %s", Setting(within.Std()))
}

// TextOpenApproval is why the end of an open run is not known.
func TextOpenApproval(jobType, task string, deadline time.Time) string {
	text := fmt.Sprintf("%s is open and waits for an approval (%s): its ticks are skipped until it ends", jobType, task)
	if !deadline.IsZero() {
		text += ", at " + stamp(deadline) + " at the latest"
	}
	return text
}

// TextTick is why an instant has no run, or a late one; empty if its run or a condition says it.
func TextTick(code contract.Code) string {
	switch code { //nolint:exhaustive // the others are not about instants
	case contract.CodePaused:
		return "paused"
	case contract.CodeOverlap:
		return "overlaps the run before"
	case contract.CodeCaughtUp:
		return "one late run stands for it"
	case contract.CodeServerAway:
		return "the server was away"
	case contract.CodeForgotten:
		return "no longer kept"
	case contract.CodeNotDue:
		return "has succeeded recently"
	case contract.CodeWindowClosed:
		return "its window is closed"
	case contract.CodeLaneBusy:
		return "its lane is taken"
	case contract.CodeRetryBudget:
		return "too much of it failed"
	}
	return ""
}
