// Package source is the dialect of the sources of items: their events and commands. A source is `Next(now, Event)
// []Command`; the packages group and dagrun are the two sources.
package source

import (
	"time"

	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/breaks"
	"github.com/roundsman/roundsman/jobtype"
)

// Event is a [run.Event], a type of this package, or a type of the source. A source panics for any other type.
type Event any

// Command is an action for the workflow: a [run.Decision], a type of this package, or a type of the source.
type Command any

// Paused keeps new items from starting until [Resumed]. Another one replaces By and Note.
type Paused struct{ By, Note string }

// Resumed ends a pause.
type Resumed struct{}

// CancelItem cancels one item, or ends it without waiting for its handler. Refused requests change nothing.
type CancelItem struct {
	// Item is the number of the item, Name its id. Key is the dedupe key of a job without a number.
	Item      int
	Name, Key string
	Force     bool
	Reason    string
}

// Canceled cancels the run.
type Canceled struct{ Reason string }

// LaneReported is a report of the run of an item about its lane.
type LaneReported struct{ breaks.Report }

// GrantLane answers the run of an item that has requested its lane.
type GrantLane struct{ breaks.Report }

// Acquire is a [run.Decision] of the kind Acquire.
type Acquire struct {
	run.Decision

	Priority jobtype.Priority
	// Grace is the time for which an attempt may continue unnoticed after the end of the run; 0 adds nothing.
	Grace time.Duration
}
