package seaweedfs

import (
	"context"
	"slices"
	"time"

	"github.com/roundsman/roundsman/internal/seaweedfs/plan"
	"github.com/roundsman/roundsman/internal/seaweedfs/steps"
)

// note precedes the mark of the source: a read-only volume does not show the author of its mark. If no filer answers,
// the move continues without a note.
func (w *walk) note(ctx context.Context, call steps.Call) {
	move, ok := w.work.(*steps.Move)
	if !ok || call.Op != steps.MarkReadOnly || call.Server != move.Source || call.Persist {
		return
	}
	note := plan.Note{Source: move.Source, Target: move.Target, At: time.Now().UTC()}
	if err := w.underLease(ctx, func(ctx context.Context) error { return w.cluster.PutNote(ctx, w.volume, note) }); err != nil {
		w.report("no note of the move", err.Error())
	}
}

// forget removes the note of an ended move, unless the source stays read-only by this move, or by an earlier one that a
// failed job may not have repaired. A move that does not settle lists nothing, so its source may be read-only, too.
func (w *walk) forget(ctx context.Context, end steps.End) {
	move, ok := w.work.(*steps.Move)
	if !ok || end.Code == steps.TooManySteps || (move.Marked || !end.OK) && slices.Contains(end.Left, steps.Leftover{Kind: steps.LeftReadOnly, Server: move.Source}) {
		return
	}
	if err := w.underLease(ctx, func(ctx context.Context) error { return w.cluster.RemoveNote(ctx, w.volume) }); err != nil {
		w.report("the note of the move stays", err.Error())
	}
}

// underLease changes notes while this process holds the lease. All notes are one value.
func (w *walk) underLease(ctx context.Context, change func(context.Context) error) error {
	deadline, err := w.hold.Check()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	return change(ctx)
}
