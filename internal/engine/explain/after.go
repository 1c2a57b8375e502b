package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/roundsman/roundsman/internal/engine/after"
)

// TextAfter names the job types that a run waits for, and their last successes.
func TextAfter(names []string, wait after.Wait) string {
	texts := make([]string, len(names))
	for i, name := range names {
		within := wait.Needs[name].SucceededWithin
		texts[i] = fmt.Sprintf("%s has no success of the last %s", name, Setting(within.Std()))
		if last, known := wait.Succeeded[name]; known {
			texts[i] += ", the last one was at " + stamp(last)
		}
	}
	return strings.Join(texts, "; ")
}

// TextAwaited is the cause of a delay that is over.
func TextAwaited(names []string) string {
	return "it waited for a success of " + strings.Join(names, ", ")
}

// TextNotDue is the cause of a tick that is skipped after a recent success.
func TextNotDue(last time.Time, rest time.Duration) string {
	return fmt.Sprintf("it succeeded at %s, and run_if_not_succeeded_for is %s", stamp(last), Setting(rest))
}
