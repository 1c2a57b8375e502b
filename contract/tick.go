package contract

// Codes of scheduled instants that start no run, besides those of runs that are
// skipped.
const (
	// CodeOverlap: the run before is still open, and policy.overlap drops the tick.
	CodeOverlap Code = "OVERLAP_SKIPPED"
	// CodeCaughtUp: the server was away; one run that it started late stands for
	// several ticks.
	CodeCaughtUp Code = "CAUGHT_UP"
	// CodeServerAway: the server was away for longer than policy.catchup_window.
	CodeServerAway Code = "CATCHUP_MISSED"
	// CodeForgotten: the server no longer keeps what it did then.
	CodeForgotten Code = "RETENTION"
)

// TickState is what became of a scheduled instant, or will.
type TickState string

// The states of a scheduled instant.
const (
	TickRuns    TickState = "runs" // forecast
	TickRan     TickState = "ran"
	TickOpen    TickState = "open" // its run is still open
	TickSkipped TickState = "skipped"
	TickMissed  TickState = "missed"
)
