package starter

import (
	"fmt"
	"time"
)

// StatusPaused is the status of a workflow paused in Temporal itself, with the Web UI's
// button or `temporal workflow pause`. It is open, does nothing and answers nothing. It is
// unrelated to Roundsman's own pauses.
const StatusPaused RunStatus = "Paused"

// open reports whether a workflow with this status can still continue.
func (s RunStatus) open() bool { return s == StatusRunning || s == StatusPaused }

// PausedWorkflowError reports that a workflow does not answer because it is paused in
// Temporal itself.
type PausedWorkflowError struct {
	WorkflowID string
	// By and Note are the server's record of the pause. Since is zero if it could not be
	// read.
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
