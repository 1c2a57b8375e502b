package progress

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/explain"
	"github.com/roundsman/roundsman/starter"
)

// Display shows any number of runs. Its methods may be called from several
// goroutines.
type Display interface {
	// Update shows the state of a run; a run is added when it is first seen and
	// leaves a summary behind when it has ended.
	Update(snapshot starter.Snapshot)
	// Note prints a line beside the runs.
	Note(line string)
	// Close leaves the terminal as it was. Nothing may be shown afterwards.
	Close()
}

// New returns bars for a terminal and lines for everything else.
func New(w io.Writer, terminal bool, width int, now func() time.Time) Display {
	if terminal {
		return newBars(w, width)
	}
	return newLines(w, now)
}

// NewTimed is New with the time of day before every line.
func NewTimed(w io.Writer, terminal bool, width int, now func() time.Time) Display {
	if terminal {
		live := newBars(w, width)
		live.stamp = func() string { return now().Format(timeOfDay) }
		return live
	}
	return newLines(stamped{w, now}, now)
}

const timeOfDay = "15:04:05 "

// stamped writes the time of day before each line; every write is whole lines.
type stamped struct {
	io.Writer

	now func() time.Time
}

// Write implements io.Writer.
func (s stamped) Write(line []byte) (int, error) {
	if _, err := io.WriteString(s.Writer, s.now().Format(timeOfDay)); err != nil {
		return 0, fmt.Errorf("write the time: %w", err)
	}
	return s.Writer.Write(line) //nolint:wrapcheck // it stands for the writer
}

// Summary tells how a run ended: one line, and one for each of its first
// failures.
func Summary(snapshot starter.Snapshot) []string {
	name := snapshot.JobType
	if snapshot.Result == nil {
		reason := snapshot.Failure
		if reason == "" {
			reason = string(snapshot.Status)
		}
		return []string{fmt.Sprintf("%s: no result: %s (%s)", name, reason, snapshot.WorkflowID)}
	}
	result := snapshot.Result
	line := fmt.Sprintf("%s: %s in %s: %s", name, result.Outcome, duration(result.DurationMS), Counts(result.Counts))
	if len(result.ByWorker) > 0 {
		line += " (" + byWorker(result.ByWorker) + ")"
	}
	if result.Reason != "" {
		line += ": " + result.Reason
	}
	lines := []string{line}
	failures, named := explain.GroupFailures(result.Errors), 0
	for i, failure := range failures {
		if i == maxErrors {
			break
		}
		named += failure.Count
		lines = append(lines, "  "+failureLine(failure))
	}
	if more := result.Counts.Failed - named; more > 0 {
		lines = append(lines, fmt.Sprintf("  … and %d more failed: roundsman runs show %s", more, snapshot.WorkflowID))
	}
	return lines
}

// failureLine is the message with its key, or with how many have it and one example.
func failureLine(failure explain.Failure) string {
	key := ui.Shorten(cmp.Or(failure.Example.DedupeKey, failure.Example.JobID), 60)
	if failure.Count > 1 {
		return fmt.Sprintf("%d × %s (such as %s)", failure.Count, shorten(failure.Message, maxMessage), key)
	}
	return key + ": " + shorten(failure.Message, maxMessage)
}

const (
	// maxErrors is how many failures a summary groups.
	maxErrors = 5
	// maxMessage is how many columns of a message it shows.
	maxMessage = 160
)

func duration(ms int64) string {
	return (time.Duration(ms) * time.Millisecond).Round(10 * time.Millisecond).String()
}

func byWorker(counts map[string]int) string {
	parts := make([]string, 0, len(counts))
	for _, worker := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", worker, counts[worker]))
	}
	return strings.Join(parts, ", ")
}

// Counts is the short form of a group's counts: what is zero is left out.
func Counts(counts contract.GroupCounts) string {
	found := fmt.Sprintf("%d found", counts.Detected)
	if counts.DetectedMore {
		found = "more than " + found
	}
	parts := []string{found}
	for _, part := range []struct {
		count int
		name  string
	}{
		{counts.Duplicates, "duplicate"},
		{counts.Batched, "batched with others"},
		{counts.AlreadyActive, "already active"},
		{counts.Disabled, "held back"},
		{counts.Surplus, "over the limit"},
		{counts.Invalid, "invalid"},
		{counts.Completed, "completed"},
		{counts.Failed, "failed"},
		{counts.Stale, "stale"},
		{counts.Canceled, "canceled"},
		{counts.Expired, "expired"},
		{counts.NotStarted, "not started"},
		{counts.Retries, "retried"},
		{counts.Replacements, "re-placed"},
	} {
		if part.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.count, part.name))
		}
	}
	return strings.Join(parts, ", ")
}

// Ended counts the jobs of a group that are in a final state.
func Ended(counts contract.GroupCounts) int {
	return counts.Completed + counts.Failed + counts.Stale + counts.Canceled + counts.Expired + counts.NotStarted
}

// now describes what an open run does at this moment.
func doing(snapshot starter.Snapshot) string {
	group := snapshot.Group
	if group == nil {
		if snapshot.Unanswered != "" {
			return shorten(snapshot.Unanswered, maxMessage)
		}
		return "starting"
	}
	if snapshot.Unanswered != "" {
		return notAnswered(snapshot.Unanswered)
	}
	var parts []string
	switch {
	case group.Waiting != "":
		parts = append(parts, group.Waiting)
	case group.Paused:
		parts = append(parts, "paused")
	case group.Counts.Accepted == 0 && group.Phase != "":
		parts = append(parts, group.Phase)
	}
	if group.Running > 0 {
		parts = append(parts, fmt.Sprintf("%d running", group.Running))
	}
	if group.Counts.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", group.Counts.Failed))
	}
	if job := slowest(snapshot.Active); job != "" {
		parts = append(parts, job)
	}
	if len(parts) == 0 {
		// Between two jobs, or before the first.
		return group.Phase
	}
	return strings.Join(parts, ", ")
}

// notAnswered is shown in place of what a run does while nobody says: what was
// known last would look like the present.
func notAnswered(why string) string {
	return shorten("no answer: "+why, maxMessage)
}

// slowest shows one job that reports progress: the first by id, which started
// first, so that the line does not jump between jobs.
func slowest(active []starter.ActiveJob) string {
	for _, job := range active {
		if job.Progress == nil || job.Progress.Percent <= 0 && job.Progress.Message == "" {
			continue
		}
		text := job.JobID
		if job.Progress.Percent > 0 {
			text += fmt.Sprintf(" %.0f%%", job.Progress.Percent)
		}
		return shorten(strings.TrimSpace(text+" "+job.Progress.Stage+" "+job.Progress.Message), 60)
	}
	return ""
}

// shorten cuts text to one line of at most width columns.
func shorten(text string, width int) string {
	return ui.Shorten(text, width)
}
