package explain

import (
	"fmt"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
)

// FrozenFacts is a workflow that is paused in Temporal itself.
type FrozenFacts struct {
	ID, By, Note string
	Since        time.Time
}

// StuckFacts is a workflow whose workflow task fails repeatedly, or whose state cannot be read.
type StuckFacts struct {
	ID      string
	Message string
	Unread  bool
	// Times and Since are zero if only the error of a query showed it.
	Times int
	Since time.Time
	// Version is the control plane version of the last progress, if known.
	Version string
}

func (f Facts) mute(id string) string {
	switch {
	case slices.ContainsFunc(f.Frozen, func(one FrozenFacts) bool { return one.ID == id }):
		return "paused"
	case slices.ContainsFunc(f.Stuck, func(one StuckFacts) bool { return one.ID == id }):
		return "stuck"
	}
	return ""
}

func (w StuckFacts) reason() Reason {
	detail := "the control plane cannot continue with workflow " + w.ID
	if w.Version != "" {
		detail += ", which last continued under version " + w.Version
	}
	if w.Times > 0 {
		detail += fmt.Sprintf(", %s %d times", TextStuck(w.Unread), w.Times)
	}
	why := reason(contract.CodeWorkflowStuck, w.ID, w.Since, time.Time{}, detail+": "+w.Message)
	if w.Unread {
		why = why.with(UnreadRemedy(w.ID))
	}
	return why
}

// TextStuck is the failure that is repeated.
func TextStuck(unread bool) string {
	if unread {
		return "its state could not be read"
	}
	return "its workflow task failed"
}

func (w FrozenFacts) reason() Reason {
	detail := "workflow " + w.ID + " is paused in Temporal itself"
	if w.By != "" {
		detail += " by " + w.By
	}
	if w.Note != "" {
		detail += ": " + w.Note
	}
	return reason(contract.CodePaused, w.ID, w.Since, time.Time{}, detail).with(act(about(action.UnpauseWorkflow, "workflow", w.ID)))
}
