package starter

import (
	"fmt"
	"time"
)

// StatusPaused is the status of a workflow paused in Temporal itself. It is open and answers nothing. Roundsman's own
// pauses are others.
const StatusPaused RunStatus = "Paused"

func (s RunStatus) open() bool { return s == StatusRunning || s == StatusPaused }

// PausedWorkflowError means: a workflow does not answer because it is paused in Temporal itself.
type PausedWorkflowError struct {
	WorkflowID string
	// The server's record of the pause. Since is zero if unreadable.
	By, Note string
	Since    time.Time
}

func (*PausedWorkflowError) unanswered() {}

// Error implements error.
func (e *PausedWorkflowError) Error() string {
	return fmt.Sprintf("workflow %s is paused in Temporal%s and answers nothing: unpause it in the Web UI, or with `temporal workflow unpause --workflow-id %s`",
		e.WorkflowID, e.who(), e.WorkflowID)
}

func (e *PausedWorkflowError) who() string {
	text := ""
	if e.By != "" {
		text += " by " + e.By
	}
	if e.Note != "" {
		text += " (" + e.Note + ")"
	}
	return text
}
