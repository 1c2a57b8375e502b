package dagrun

import (
	"time"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/engine/run"
)

// The parts of a [Graph], each above the one that it embeds. A part owns its fields, and calls only the parts below.

// catalog has the settings, the states and the definitions of the tasks.
type catalog struct {
	cfg       Config
	run       *dag.Run
	program   *spec.Program
	shapes    map[*spec.Definition]*shape
	startedAt time.Time
}

// records has the history of tasks.
type records struct {
	results

	book book
	// continues has where tasks continue that waited for tasks they returned.
	continues continues
}

// tasks has the tasks that have begun.
type tasks struct {
	records

	engine *run.Engine
	live   map[dag.Index]*task
	seq    int64
	// now is the time of the last step, for looking at the run.
	now time.Time
}

// waits has the waits of tasks and of the run.
type waits struct {
	tasks

	starts []dag.Index // started by dag.Run, not yet begun
	next   int         // head of starts
	lane   lane

	timers    timers
	deadline  time.Time
	heldUntil time.Time
	// fullSince is when the run's concurrency was used up, gateSince when as many
	// tasks waited for resources; zero while they do not.
	fullSince, gateSince time.Time
	// fanSince is when the concurrency of a fan-out was used up.
	fanSince map[string]time.Time
}

// views describes the run, and has its end.
type views struct {
	waits

	reason  string // why the run was canceled or is over
	lost    bool   // it ends because a task lost its worker
	outcome dag.Outcome
}

// requests checks the requests of operators.
type requests struct {
	views

	answer Answer
}
