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
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/starter"
)

// DAGDisplay shows one run of a DAG. Its methods may be called from several
// goroutines.
type DAGDisplay interface {
	// Update shows the state of the run. When it has ended, a summary is left
	// behind, and further updates change nothing.
	Update(snapshot starter.DAGSnapshot)
	// Note prints a line beside the run; an empty one is left out.
	Note(line string)
	// Close leaves the terminal as it was. Nothing may be shown afterwards.
	Close()
}

// NewDAG returns a live view for a terminal and lines for everything else.
func NewDAG(w io.Writer, terminal bool, width int, now func() time.Time) DAGDisplay {
	if terminal {
		return newDAGBars(w, width, now)
	}
	return &dagLines{w: w, now: now, every: lineEvery, printed: now()}
}

// NewDAGNotes returns a display that says only what somebody must know at once
// (a task failed, an approval is waited for), and the summary.
func NewDAGNotes(w io.Writer, now func() time.Time) DAGDisplay {
	return &dagLines{w: w, now: now}
}

// dagNews finds out what is new in a snapshot.
type dagNews struct {
	failed, asked map[string]bool
	paused, held  bool
}

// lines tells what somebody must know, each thing once; a task that fails again
// after a retry is news again.
func (n *dagNews) lines(snapshot starter.DAGSnapshot) []string {
	state := snapshot.State
	if state == nil {
		return nil
	}
	var lines []string
	failed := map[string]bool{}
	for _, task := range state.Failed {
		key := fmt.Sprint(task.ID, " ", task.Attempts)
		if failed[key] = true; !n.failed[key] && task.State == dag.Failed.String() {
			lines = append(lines, "task "+dagFailure(task.ID, task.DAGTask))
		}
	}
	asked := map[string]bool{}
	for _, task := range state.Approvals {
		if asked[task.ID] = true; !n.asked[task.ID] {
			lines = append(lines, fmt.Sprintf("task %s waits for %s (roundsman dag approve %s %s)",
				task.ID, shorten(cmp.Or(task.Waiting, "an approval"), maxMessage), snapshot.WorkflowID, task.ID))
		}
	}
	if state.Paused && !n.paused {
		lines = append(lines, "paused; go on with `roundsman runs resume "+snapshot.WorkflowID+"`")
	}
	held := !state.HeldUntil.IsZero()
	if held && !n.held {
		lines = append(lines, fmt.Sprintf("held until %s after a failure: `roundsman dag retry %s` tries again, `roundsman dag release %s` ends it",
			state.HeldUntil.Local().Format(time.TimeOnly), snapshot.WorkflowID, snapshot.WorkflowID))
	}
	n.failed, n.asked, n.paused, n.held = failed, asked, state.Paused, held
	return lines
}

func dagFailure(id string, task contract.DAGTask) string {
	var where []string
	if task.Worker != "" {
		where = append(where, "on "+task.Worker)
	}
	if task.Attempts > 1 {
		where = append(where, fmt.Sprintf("attempt %d", task.Attempts))
	}
	line := id + " failed"
	if len(where) > 0 {
		line += " (" + strings.Join(where, ", ") + ")"
	}
	if task.Error != "" {
		line += ": " + shorten(task.Error, maxMessage)
	}
	return line
}

// DAGCounts is the short form of the states that tasks are in, in the order in
// which people read them.
func DAGCounts(counts map[string]int) string {
	var parts []string
	for _, state := range dag.States() {
		if n := counts[state.String()]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	return strings.Join(parts, ", ")
}

// DAGEnded counts the tasks that have ended.
func DAGEnded(counts map[string]int) int {
	ended := 0
	for _, state := range dag.States() {
		if state.Terminal() {
			ended += counts[state.String()]
		}
	}
	return ended
}

// DAGSummary tells how a run ended: one line, and one for each of its first
// failures.
func DAGSummary(snapshot starter.DAGSnapshot) []string {
	name := snapshot.DAG
	if snapshot.Result == nil {
		return []string{fmt.Sprintf("%s: no result: %s (%s)", name, cmp.Or(snapshot.Failure, string(snapshot.Status)), snapshot.WorkflowID)}
	}
	result := snapshot.Result
	line := fmt.Sprintf("%s: %s in %s: %s", name, result.Outcome, duration(result.DurationMS), DAGCounts(result.Counts))
	if result.Reason != "" {
		line += ": " + shorten(result.Reason, maxMessage)
	}
	return append([]string{line}, dagFailures(snapshot)...)
}

// DAGAdvice says what can be done about a run that did not complete; empty for
// one that did.
func DAGAdvice(snapshot starter.DAGSnapshot) string {
	if snapshot.Outcome == contract.OutcomeCompleted {
		return ""
	}
	return fmt.Sprintf("  see `roundsman runs show %s`; run what is left with `roundsman dag retry %s`", snapshot.WorkflowID, snapshot.WorkflowID)
}

func dagFailures(snapshot starter.DAGSnapshot) []string {
	var lines []string
	for _, id := range slices.Sorted(maps.Keys(snapshot.Result.Tasks)) {
		task := snapshot.Result.Tasks[id]
		if task.State != dag.Failed.String() {
			continue
		}
		if len(lines) == maxErrors {
			return append(lines, fmt.Sprintf("  … %d in all: roundsman runs show %s --state failed", snapshot.Result.Counts[task.State], snapshot.WorkflowID))
		}
		lines = append(lines, "  "+dagFailure(id, task))
	}
	return lines
}

// dagDoing describes what an open run does at this moment.
func dagDoing(snapshot starter.DAGSnapshot) string {
	state := snapshot.State
	if state == nil {
		return cmp.Or(snapshot.Unanswered, "starting")
	}
	if snapshot.Unanswered != "" {
		return notAnswered(snapshot.Unanswered)
	}
	var parts []string
	switch {
	case state.Paused:
		parts = append(parts, strings.TrimSpace("paused "+state.PauseNote))
	case state.Waiting != "":
		parts = append(parts, state.Waiting)
	case state.Total == 0 && state.Phase != "":
		parts = append(parts, state.Phase)
	}
	for _, shown := range []dag.State{dag.Running, dag.Ready, dag.Failed, dag.UpstreamFailed} {
		if n := state.Counts[shown.String()]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, shown))
		}
	}
	if n := len(state.Approvals); n > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting for approval", n))
	}
	return strings.Join(parts, ", ")
}
