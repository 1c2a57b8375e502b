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
