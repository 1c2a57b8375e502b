package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/workflows/entity"
)

// backlog keeps what the core decided in its order, and hands out as much as the
// current workflow task may order; at least one.
type backlog[D any] struct {
	waiting []D
	// bytes is what all that wait carry.
	bytes int
	tasks entity.Tasks
}

// admits takes a decision of that size into the current workflow task, or keeps it
// for a later one, with all that come after it.
func (b *backlog[D]) admits(ctx workflow.Context, d D, size int) bool {
	if len(b.waiting) > 0 || !b.tasks.Fits(ctx, size) {
		b.waiting = append(b.waiting, d)
		b.bytes += size
		return false
	}
	return true
}

// next gives the decision that comes next, if it fits.
func (b *backlog[D]) next(ctx workflow.Context, size func(D) int) (d D, ok bool) {
	if len(b.waiting) == 0 || !b.tasks.Fits(ctx, size(b.waiting[0])) {
		return d, false
	}
	d = b.waiting[0]
	b.waiting = b.waiting[1:]
	b.bytes -= size(d)
	return d, true
}

// empty reports whether everything that was decided has been ordered.
func (b *backlog[D]) empty() bool { return len(b.waiting) == 0 }
