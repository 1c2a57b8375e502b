package entity

import "go.temporal.io/sdk/workflow"

// The bounds of what one workflow task may order. The server refuses an answer of
// more than 4 MiB and terminates the workflow for it, so a burst of large starts is
// spread over several tasks. Orders are counted as they are in memory: encoding
// them as JSON may blow up each byte to six.
const (
	maxOrdered = 640 << 10
	// orderBytes is the cost of any order, besides what it carries.
	orderBytes = 512
)

// Tasks counts what the current workflow task orders.
type Tasks struct {
	// task is the history's length at that task.
	task, ordered int
}

// Fits takes an order of that size into the current workflow task, if there is room
// for it; for one there always is.
func (t *Tasks) Fits(ctx workflow.Context, size int) bool {
	if length := workflow.GetInfo(ctx).GetCurrentHistoryLength(); length != t.task {
		t.task, t.ordered = length, 0
	}
	size += orderBytes
	if t.ordered > 0 && t.ordered+size > maxOrdered {
		return false
	}
	t.ordered += size
	return true
}
