package dev

import (
	"sync"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/progress"
	"github.com/roundsman/roundsman/starter"
)

// quiet hides rounds that find nothing.
type quiet struct {
	progress.Display

	now   func() time.Time
	mu    sync.Mutex
	shown map[string]bool
}

// quietFor is the longest detection that stays hidden.
const quietFor = 5 * time.Second

func newQuiet(display progress.Display, now func() time.Time) *quiet {
	return &quiet{Display: display, now: now, shown: map[string]bool{}}
}

// Update implements progress.Display.
func (q *quiet) Update(snapshot starter.Snapshot) {
	q.mu.Lock()
	news := q.shown[snapshot.WorkflowID] || q.isNews(snapshot)
	if news && snapshot.Open() {
		q.shown[snapshot.WorkflowID] = true
	} else {
		delete(q.shown, snapshot.WorkflowID)
	}
	q.mu.Unlock()
	if news {
		q.Display.Update(snapshot)
	}
}

func (q *quiet) isNews(snapshot starter.Snapshot) bool {
	switch {
	case snapshot.Open():
		return snapshot.Group != nil && snapshot.Group.Counts.Detected > 0 || q.now().Sub(snapshot.Started) > quietFor
	case snapshot.Result == nil:
		return true
	}
	return snapshot.Result.Outcome != contract.OutcomeCompleted || snapshot.Result.Counts.Detected > 0
}
