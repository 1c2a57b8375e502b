package starter

import (
	"fmt"
	"time"
)

// StatusPaused is the status of a workflow that somebody paused in Temporal
// itself, with the Web UI's button or `temporal workflow pause`: it is open,
// does nothing and answers nothing. It has nothing to do with the pauses of
// Roundsman, which runs know of.
const StatusPaused RunStatus = "Paused"

// open reports whether a workflow of that status can still continue.
func (s RunStatus) open() bool { return s == StatusRunning || s == StatusPaused }

// PausedWorkflowError says that a workflow was paused in Temporal itself and
// therefore does not answer.
type PausedWorkflowError struct {
	WorkflowID string
	// By and Note are what the server knows of the pause; Since is zero if it
	// could not be asked.
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
