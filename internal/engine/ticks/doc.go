// Package ticks explains each instant at which a job type was due: its run ended, is open or is
// buffered, or the instant was skipped or missed with a code. No instant is left unexplained.
//
// The server keeps only the number of the ticks that it dropped. The ledger derives the code
// from pauses, open runs, runs that began late, and the server's retention.
//
// The package is pure: instants, runs and pauses are data.
package ticks
