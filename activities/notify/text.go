package notify

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// title sets the title, one line, and the command that shows more.
func title(n *contract.Notification) {
	name := cmp.Or(n.JobType, n.DAG)
	switch n.Event {
	case contract.NotifyFailed:
		how := cmp.Or(string(n.Outcome), "terminated")
		n.Title = fmt.Sprintf("%s: %s%s", name, how, tally(n.Counts))
	case contract.NotifyPartial:
		n.Title = fmt.Sprintf("%s: partial%s", name, tally(n.Counts))
	case contract.NotifyWarning:
		n.Title = fmt.Sprintf("%s: completed, %d with a warning", name, n.Counts[contract.JobWarning])
		if n.Counts == nil {
			n.Title = name + ": completed; whether with a warning could not be read"
		}
	case contract.NotifyRecovered:
		n.Title = fmt.Sprintf("%s: completed again, %s after it failed", name, span(n.At.Sub(n.Since)))
	case contract.NotifyApproval:
		n.Title = fmt.Sprintf("%s: task %s waits for an approval", name, n.Task)
		n.Command = fmt.Sprintf("roundsman approve %s/%s", n.Run, n.Task)
	case contract.NotifyWorkerLost:
		n.Title = fmt.Sprintf("worker %s is lost: no sign of it since %s", n.Worker, n.Since.UTC().Format(time.RFC3339))
		n.Command = "roundsman explain " + n.Worker
	case contract.NotifyWorkerSuspect:
		n.Title = fmt.Sprintf("worker %s is suspect: programs do not start there since %s", n.Worker, n.Since.UTC().Format(time.RFC3339))
		n.Command = "roundsman show " + n.Worker
	case contract.NotifyNotSucceeded:
		n.Title = fmt.Sprintf("%s: has not completed since %s", name, n.Since.UTC().Format(time.RFC3339))
		n.Command = "roundsman explain " + name
	case contract.NotifyTest:
		n.Title = "a test of this receiver"
		n.Command = "roundsman receivers"
	}
	n.Command = cmp.Or(n.Command, "roundsman show "+n.Run)
	n.Title = jobtype.OneLine(n.Title, contract.MaxNotificationText)
	n.Detail = jobtype.ClipCause(strings.TrimSpace(n.Detail), contract.MaxNotificationText)
}

func tally(counts map[string]int) string {
	if counts["failed"] == 0 {
		return ""
	}
	return fmt.Sprintf(", %d failed, %d completed", counts["failed"], counts["completed"]+counts[contract.JobWarning])
}

func span(d time.Duration) string { return d.Round(time.Second).String() }

// text returns the body of a mail. The detail is its end, so its last line is the cause.
func text(n contract.Notification) string {
	var out strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&out, "%-12s%s\n", name, value)
		}
	}
	out.WriteString(n.Title + "\n\n")
	line("run", n.Run)
	line("task", n.Task)
	line("worker", n.Worker)
	line("at", n.At.UTC().Format(time.RFC3339))
	line("see", n.Command)
	line("id", n.ID)
	if n.Detail != "" {
		out.WriteString("\n" + n.Detail + "\n")
	}
	return out.String()
}
