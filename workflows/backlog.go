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

// backlog keeps what the core decided in its order, and hands out as much as the
// current workflow task may order; at least one.
type backlog[D any] struct {
	waiting []D
	// bytes is what all that wait carry.
	bytes int
	burst burst
}

// admits takes a decision of that size into the current workflow task, or keeps it
// for a later one, with all that come after it.
func (b *backlog[D]) admits(ctx workflow.Context, d D, size int) bool {
	if len(b.waiting) > 0 || !b.burst.fits(ctx, size) {
		b.waiting = append(b.waiting, d)
		b.bytes += size
		return false
	}
	return true
}

// next gives the decision that comes next, if it fits.
func (b *backlog[D]) next(ctx workflow.Context, size func(D) int) (d D, ok bool) {
	if len(b.waiting) == 0 || !b.burst.fits(ctx, size(b.waiting[0])) {
		return d, false
	}
	d = b.waiting[0]
	b.waiting = b.waiting[1:]
	b.bytes -= size(d)
	return d, true
}

// empty reports whether everything that was decided has been ordered.
func (b *backlog[D]) empty() bool { return len(b.waiting) == 0 }
