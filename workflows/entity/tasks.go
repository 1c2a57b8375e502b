package entity

import "go.temporal.io/sdk/workflow"

// The server terminates a workflow whose task completion exceeds 4 MiB, so large starts are spread over several
// tasks. Orders are counted as in memory: each byte may become six in JSON.
const (
	maxOrdered = 640 << 10
	// orderBytes is the fixed cost of an order, without its payload.
	orderBytes = 512
)

// Tasks counts the orders of the current workflow task.
type Tasks struct {
	// task is the history's length at that task.
	task, ordered int
}

// Fits takes an order of that size into the current workflow task if there is room; the first order always fits.
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
