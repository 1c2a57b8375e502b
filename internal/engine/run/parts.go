package run

import (
	"time"

	"github.com/roundsman/roundsman/internal/engine/ranked"
	"github.com/roundsman/roundsman/internal/engine/run/checkpoints"
	"github.com/roundsman/roundsman/internal/engine/run/rollover"
)

// The parts of an [Engine], each above the one that it embeds. A part owns its fields, and calls only the parts below.

// outbox has the results of a step.
type outbox struct {
	decisions []Decision
	reports   []Report
	// takenDecisions and takenReports were returned last; their memory is reused after the next Take.
	takenDecisions []Decision
	takenReports   []Report
	notes          []Note
	// retried and replaced count the items for [Engine.Again].
	retried, replaced int
	changedAt         time.Time
}

// rules has the settings of the run, and the reasons why nothing starts.
type rules struct {
	outbox

	limit         int
	claims, admit bool
	reoffer       bool
	adopt         bool
	work          map[string]Work

	pause     Pause
	suspended bool
	// stopped is the final state of items that can no longer start; Open while they can.
	stopped    State
	stopReason string
	// fatal means that an item was lost under recovery: fail. Nothing starts until the source
	// ends the run.
	fatal   bool
	closing Closing
}

// fences has the fences of attempts, and numbers the requests for resources.
type fences struct {
	rules

	// fence is the last one used, fenceEnd the last of the range; 0 means no end.
	fence, fenceEnd int64
	wantsFences     bool
	// fenced means that an attempt has a fence of the run's own.
	fenced bool
	asks   int
}

// ledger has the items and their timers.
type ledger struct {
	fences

	items map[int]*item
	// flight has the attempts that run or may still run, including idle ones.
	flight map[int]*item
	// gate has the items that wait for resources, or hold them and do not run.
	gate ranked.Set[*item]
	lost ranked.Set[*item]
	// late counts items that do not fit before the window closes.
	late int
	// idle counts attempts in flight that survive continue-as-new.
	idle        int
	checkpoints checkpoints.Sizes
	// settled are items whose memory is reused.
	settled []*item
	timers  ranked.Queue[timer]
	// swept is the number of timers left by the last sweep.
	swept int
	roll  rollover.Rollover
}

// board has the workers, and the classes and crowds in which items wait.
type board struct {
	ledger

	fleet fleet
	// waits counts the items of gate that wait for others' resources. These items use no concurrency slot.
	waits int
	moved int
	// crowds has the needs for which items wait, by [Needs.Key].
	crowds map[string]*crowd

	classes map[string]*class
	// open are the classes without a node; pinned are the others, by node.
	open   []*class
	pinned map[string][]*class
	// dirty are the classes to evaluate. looked and key are reusable memory, for the next list
	// and for the key of an item.
	dirty, looked []*class
	key           []byte
	// ready are the classes that may start an item, asking those whose first item must request
	// its resources.
	ready, asking ranked.Heap[*class]
	// noWorker has the start times of classes without workers whose items are not offered yet.
	noWorker map[string]savedClass
	// freed are workers whose room changed in this step.
	freed []*worker
}

// course moves items from one phase to the next, until they settle.
type course struct{ board }

// views describes the run and its items.
type views struct{ course }
