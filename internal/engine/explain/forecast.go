package explain

import (
	"fmt"
	"strings"
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

// dropped has the words of codes of instants, in the form of [did].
const dropped = " PAUSED=paused; OVERLAP_SKIPPED=overlaps the run before; CAUGHT_UP=one late run stands for it;" +
	" CATCHUP_MISSED=the server was away; RETENTION=no longer kept; NOT_DUE_UNTIL=has succeeded recently;" +
	" WINDOW_CLOSED_UNTIL=its window is closed; LANE_BUSY=its lane is taken; RETRY_BUDGET=too much of it failed;"

// TextTick is why an instant has no run, or a late one; empty if its run or a condition says it.
func TextTick(code contract.Code) string { return wordsOf(dropped, string(code)) }

// wordsOf returns the words behind a code in a table; "" without one.
func wordsOf(table, code string) string {
	_, words, known := strings.Cut(table, " "+code+"=")
	if !known || code == "" {
		return ""
	}
	words, _, _ = strings.Cut(words, ";")
	return words
}
