package group

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/internal/engine/run/group"
)

// Bounds for storing the last segment of the record. The group has ended and only waits for it.
const (
	lastTries = 30
	lastPause = 10 * time.Second
)

func (r *groupRun) collectStored() {
	var page string
	err := r.storing.Get(r.ctx, &page)
	if r.storing = nil; err != nil {
		workflow.GetLogger(r.ctx).Warn("A part of the record was not stored. The group goes on and tries again.", "error", err)
		r.loop.Step(group.RecordNotStored{})
		return
	}
	r.loop.Step(group.RecordStored{Page: page})
}

func (r *groupRun) storeRest() {
	for tries := 0; tries < lastTries; {
		segment := r.core.LastSegment(r.loop.Now())
		if segment == nil {
			return
		}
		var page string
		if err := r.loop.PutPage(segment).Get(r.ctx, &page); err != nil {
			workflow.GetLogger(r.ctx).Warn("The end of the record was not stored.", "try", tries+1, "of", lastTries, "error", err)
			_ = workflow.Sleep(r.ctx, lastPause) // The context survives a cancellation.
			tries++
			continue
		}
		r.core.LastStored(page)
	}
}
