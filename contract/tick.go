package contract

// Codes of ticks that start no run, besides those of skipped runs.
const (
	// CodeOverlap: the previous run is open and policy.overlap drops the tick.
	CodeOverlap Code = "OVERLAP_SKIPPED"
	// CodeCaughtUp: the server was away; one late run covers several ticks.
	CodeCaughtUp Code = "CAUGHT_UP"
	// CodeServerAway: the server was away for longer than policy.catchup_window.
	CodeServerAway Code = "CATCHUP_MISSED"
	// CodeForgotten: the server no longer keeps the outcome of the tick.
	CodeForgotten Code = "RETENTION"
)

// TickState is the outcome of a tick, past or forecast.
type TickState string

// The states of a tick.
const (
	TickRuns    TickState = "runs" // forecast
	TickRan     TickState = "ran"
	TickOpen    TickState = "open"    // its run is still open
	TickWaiting TickState = "waiting" // the Schedule keeps its run back until the open one ends
	TickSkipped TickState = "skipped"
	TickMissed  TickState = "missed"
)
