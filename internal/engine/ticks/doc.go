// Package ticks says what became of each instant at which a job type was due: its
// run ran, is open or is kept back, was skipped with a code, or was missed with a code. No instant
// stays without an explanation.
//
// The server keeps no list of the ticks that it dropped, only their number. The
// ledger derives the code from what is known: pauses, runs that were open, runs that
// began late, and how far back the server remembers.
//
// The package is pure: instants, runs and pauses are data.
package ticks
