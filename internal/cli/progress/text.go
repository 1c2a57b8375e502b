package progress

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/starter"
)

const (
	// maxErrors is how many failures a summary groups.
	maxErrors = 5
	// maxMessage bounds the columns of a message in a summary.
	maxMessage = 160
)

// Summary returns one line about the end of a run, and one for each of its first failures. own renames the program.
func Summary(snapshot starter.Snapshot, own *ui.Renaming) []string {
	name := nameOf(snapshot)
	if snapshot.Result == nil && snapshot.DAGResult == nil {
		return []string{fmt.Sprintf("%s: no result: %s (%s)", name, cmp.Or(snapshot.Failure, string(snapshot.Status)), snapshot.WorkflowID)}
	}
	took := (time.Duration(snapshot.DurationMS) * time.Millisecond).Round(10 * time.Millisecond)
	line := fmt.Sprintf("%s: %s in %s: %s", name, snapshot.Outcome, took, Counts(snapshot))
	if result := snapshot.Result; result != nil && len(result.ByWorker) > 0 {
		line += " (" + byWorker(result.ByWorker) + ")"
	}
	if snapshot.Reason != "" {
		line += ": " + own.Code(ui.OneLine(snapshot.Reason))
	}
	lines := []string{line}
	failures, more := snapshot.Failures()
	for i, failure := range failures {
		if i < maxErrors {
			lines = append(lines, "  "+failureLine(snapshot.Kind, failure))
		} else {
			more += failure.Count
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf(own.Text("  … and %d more failed: roundsman show %s"), more, snapshot.WorkflowID))
	}
	return lines
}

// failureLine returns the message with its item, or with the number of items and one example.
func failureLine(kind starter.Kind, failure explain.Failure) string {
	key := ui.Shorten(cmp.Or(failure.Example.DedupeKey, failure.Example.JobID), 60)
	message := shorten(cmp.Or(failure.Message, "no reason was kept"), maxMessage)
	switch {
	case failure.Count > 1 && key == "": // A refused proposal without a key.
		return fmt.Sprintf("%d × %s", failure.Count, message)
	case failure.Count > 1:
		return fmt.Sprintf("%d × %s (such as %s)", failure.Count, message, key)
	case kind == starter.KindDAG:
		return failedItem(failure.Example)
	}
	return strings.TrimPrefix(key+": "+message, ": ")
}

func failedItem(item contract.JobError) string {
	var where []string
	if item.Worker != "" {
		where = append(where, "on "+item.Worker)
	}
	if item.Attempts > 1 {
		where = append(where, fmt.Sprintf("attempt %d", item.Attempts))
	}
	line := item.JobID + " failed"
	if len(where) > 0 {
		line += " (" + strings.Join(where, ", ") + ")"
	}
	if item.Message != "" {
		line += ": " + shorten(item.Message, maxMessage)
	}
	return line
}

func byWorker(counts map[string]int) string {
	parts := lists.Map(slices.Sorted(maps.Keys(counts)), func(worker string) string { return fmt.Sprintf("%s %d", worker, counts[worker]) })
	return strings.Join(parts, ", ")
}

// Advice returns the next command for a DAG run that did not complete, and "" for others.
func Advice(snapshot starter.Snapshot) string {
	if snapshot.Outcome == contract.OutcomeCompleted || snapshot.Kind != starter.KindDAG {
		return ""
	}
	return fmt.Sprintf("  see `roundsman show %s`; run the rest with `roundsman retry %s`", snapshot.WorkflowID, snapshot.WorkflowID)
}

// Counts returns the counts of a run, without zeros.
func Counts(snapshot starter.Snapshot) string {
	switch {
	case snapshot.Result != nil:
		return snapshot.Result.Counts.String()
	case snapshot.Group != nil:
		return snapshot.Group.Counts.String()
	}
	return States(snapshot.Counts)
}

// States returns the numbers of tasks by state, the most interesting states first.
func States(counts map[string]int) string {
	var parts []string
	for _, state := range starter.TaskStates() {
		if n := counts[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	return strings.Join(parts, ", ")
}

// Ended returns the share of ended items, and "" while the number of items is unknown.
func Ended(snapshot starter.Snapshot) string {
	if p := snapshot.Progress; p != nil && (p.Total > 0 || snapshot.Counts["detected"] > 0) {
		return fmt.Sprintf("%d of %d ended", p.Ended, p.Total)
	}
	return ""
}

// Doing returns the current activity of an open run.
func Doing(snapshot starter.Snapshot) string {
	switch {
	case snapshot.Phase == "" && snapshot.Unanswered == "":
		return "starting"
	case snapshot.Phase == "":
		return shorten(snapshot.Unanswered, maxMessage)
	case snapshot.Unanswered != "":
		// An old value would look current.
		return shorten("no answer: "+snapshot.Unanswered, maxMessage)
	}
	var parts []string
	switch {
	case snapshot.Waiting != "":
		parts = append(parts, snapshot.Waiting)
	case snapshot.Paused:
		parts = append(parts, strings.TrimSpace("paused "+snapshot.PauseNote))
	case snapshot.Progress == nil || snapshot.Progress.Total == 0:
		parts = append(parts, snapshot.Phase)
	}
	for _, state := range []dag.State{dag.Running, dag.Ready, dag.Failed, dag.UpstreamFailed} {
		if n := snapshot.Counts[state.String()]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	if state := snapshot.DAGStatus; state != nil && len(state.Approvals) > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting for approval", len(state.Approvals)))
	}
	if job := slowest(snapshot.Active); job != "" && snapshot.Kind == starter.KindGroup {
		parts = append(parts, job)
	}
	if len(parts) == 0 {
		// Between two items, or before the first.
		return snapshot.Phase
	}
	return strings.Join(parts, ", ")
}

// The item that started first, so the line does not alternate between items.
func slowest(active []starter.ActiveItem) string {
	for _, item := range active {
		if item.Progress == nil || item.Progress.Percent <= 0 && item.Progress.Message == "" {
			continue
		}
		return shorten(strings.Join(strings.Fields(item.ID+" "+percent(item)+" "+item.Progress.Stage+" "+item.Progress.Message), " "), 60)
	}
	return ""
}

func percent(item starter.ActiveItem) string {
	if item.Progress == nil || item.Progress.Percent <= 0 {
		return ""
	}
	return fmt.Sprintf("%.0f%%", min(item.Progress.Percent, 100))
}

func shorten(text string, width int) string {
	return ui.Shorten(text, width)
}
