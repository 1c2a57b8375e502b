package dagrun

import (
	"time"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/engine/ranked"
	"github.com/roundsman/roundsman/internal/engine/run"
)

// The parts of a [Graph], each above the one that it embeds. A part owns its fields, and calls only the parts below.

type catalog struct {
	cfg       Config
	run       *dag.Run
	program   *spec.Program
	shapes    map[*spec.Definition]*shape
	startedAt time.Time
}

type results struct {
	catalog

	of    map[dag.Index]*kept
	bytes int
	// refers saves looking where no task refers to a result.
	refers bool
	known  int
}

type records struct {
	results

	book      book
	continues continues
}

type tasks struct {
	records

	engine *run.Engine
	live   map[dag.Index]*task
	seq    int64
	now    time.Time
}

type waits struct {
	tasks

	starts []dag.Index // started by dag.Run, not yet begun
	next   int         // head of starts
	lane   lane

	timers    ranked.Queue[timer]
	deadline  time.Time
	heldUntil time.Time
	// Since when the run's concurrency was used up, and as many tasks waited for resources.
	fullSince, gateSince time.Time
	fanSince             map[string]time.Time
}

type views struct {
	waits

	reason  string // why the run was canceled or is over
	lost    bool   // it ends because a task lost its worker
	outcome dag.Outcome
}

type requests struct {
	views

	answer Answer
}
