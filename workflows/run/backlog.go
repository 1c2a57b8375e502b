package run

import (
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/workflows/entity"
)

// Backlog is a queue of commands that returns as many as fit into the current workflow task, at least one.
type Backlog[C any] struct {
	waiting []sized[C]
	bytes   int
	tasks   entity.Tasks
}

type sized[C any] struct {
	command C
	size    int
}

// Admit takes a command into the current workflow task, or queues it with all later ones.
func (b *Backlog[C]) Admit(ctx workflow.Context, command C, size int) bool {
	if len(b.waiting) > 0 || !b.tasks.Fits(ctx, size) {
		b.waiting = append(b.waiting, sized[C]{command, size})
		b.bytes += size
		return false
	}
	return true
}

// Next returns the next command, if it fits.
func (b *Backlog[C]) Next(ctx workflow.Context) (command C, ok bool) {
	if len(b.waiting) == 0 || !b.tasks.Fits(ctx, b.waiting[0].size) {
		return command, false
	}
	first := b.waiting[0]
	b.waiting[0] = sized[C]{}
	b.waiting = b.waiting[1:]
	b.bytes -= first.size
	return first.command, true
}

// Empty reports whether no command is queued.
func (b *Backlog[C]) Empty() bool { return len(b.waiting) == 0 }

// Bytes returns the size of the queued commands.
func (b *Backlog[C]) Bytes() int { return b.bytes }
