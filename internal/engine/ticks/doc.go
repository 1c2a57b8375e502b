// Package ticks explains each instant at which a job type was due. No instant is left unexplained. It is pure.
//
// The server keeps only the number of the ticks that it dropped. The ledger derives the code from pauses, open runs,
// runs that began late, and the server's retention.
package ticks
