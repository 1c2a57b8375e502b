package progress

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

// Display shows any number of runs. Its methods may be called from several goroutines.
type Display interface {
	// Update shows the state of a run. The first update adds the run. An ended run leaves a summary.
	Update(snapshot starter.Snapshot)
	// Note prints a line next to the runs. It leaves out an empty line.
	Note(line string)
	// Close restores the terminal. Nothing may be shown afterwards.
	Close()
}

// Options select the display.
type Options struct {
	// Terminal shows live bars, Width columns wide. Without it there are lines.
	Terminal bool
	Width    int
	Now      func() time.Time
	// Timed puts the time of day before every line.
	Timed bool
	// Items gives the first running items of a run a row of their own below its bar.
	Items bool
	// Own renames the program in the lines.
	Own *ui.Renaming
}

// New returns bars for a terminal and lines for everything else.
func New(w io.Writer, o Options) Display {
	stamp := func() string { return "" }
	if o.Timed {
		stamp = func() string { return o.Now().Format("15:04:05 ") }
	}
	if o.Terminal {
		return newBars(w, o, stamp)
	}
	return &lines{w: w, now: o.Now, own: o.Own, stamp: stamp, seen: map[string]*lineState{}}
}

func nameOf(snapshot starter.Snapshot) string {
	return cmp.Or(snapshot.Name(), snapshot.WorkflowID)
}

type news struct {
	failed, asked map[string]bool
	paused, held  bool
}

// lines returns urgent events, each once. A task that fails again after a retry is a new event.
func (n *news) lines(snapshot starter.Snapshot, own *ui.Renaming) []string {
	if snapshot.Phase == "" {
		return nil
	}
	var lines []string
	failed, asked, held := map[string]bool{}, map[string]bool{}, false
	for _, item := range snapshot.Failed {
		key := fmt.Sprint(item.JobID, " ", item.Attempts)
		if failed[key] = true; !n.failed[key] {
			lines = append(lines, "task "+failedItem(item))
		}
	}
	if state := snapshot.DAGStatus; state != nil {
		for _, task := range state.Approvals {
			if asked[task.ID] = true; !n.asked[task.ID] {
				lines = append(lines, fmt.Sprintf(own.Text("task %s waits for %s (roundsman approve %s/%s)"),
					task.ID, shorten(cmp.Or(task.Waiting, "an approval"), maxMessage), snapshot.WorkflowID, task.ID))
			}
		}
		if snapshot.Paused && !n.paused {
			lines = append(lines, own.Text("paused; resume it with `roundsman resume "+snapshot.WorkflowID+"`"))
		}
		if held = !state.HeldUntil.IsZero(); held && !n.held {
			lines = append(lines, fmt.Sprintf(own.Text("held until %s after a failure: `roundsman retry %s` tries again, `roundsman resume %s` ends it"),
				ui.Stamp(state.HeldUntil), snapshot.WorkflowID, snapshot.WorkflowID))
		}
	}
	n.failed, n.asked, n.paused, n.held = failed, asked, snapshot.Paused, held
	return lines
}
