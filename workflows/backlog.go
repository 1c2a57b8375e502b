package workflows

import "go.temporal.io/sdk/workflow"

// What one workflow task may order. The server refuses an answer of more than
// 4 MiB and terminates the workflow for it, so a burst of large starts is spread
// over several tasks. Orders are counted as they are in memory: encoding them as
// JSON may blow up each byte to six.
const (
	maxOrdered = 640 << 10
	// orderBytes is what any order costs, beside what it carries.
	orderBytes = 512
)

// burst counts what the current workflow task orders.
type burst struct {
	// task is the history's length at that task.
	task, ordered int
}

// fits takes an order of that size into the current workflow task, if there is room
// for it; for one there always is.
func (b *burst) fits(ctx workflow.Context, size int) bool {
	if length := workflow.GetInfo(ctx).GetCurrentHistoryLength(); length != b.task {
		b.task, b.ordered = length, 0
	}
	size += orderBytes
	if b.ordered > 0 && b.ordered+size > maxOrdered {
		return false
	}
	b.ordered += size
	return true
}
