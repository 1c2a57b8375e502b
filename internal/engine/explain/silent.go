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

// StuckFacts is a workflow whose workflow task fails repeatedly.
type StuckFacts struct {
	ID      string
	Message string
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
		detail += fmt.Sprintf(", its workflow task failed %d times", w.Times)
	}
	return reason(contract.CodeWorkflowStuck, w.ID, w.Since, time.Time{}, detail+": "+w.Message)
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
