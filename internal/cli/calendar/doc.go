// Package calendar has the commands about scheduled instants: forecast tells what the
// next days bring, ledger what became of those of the last days.
package calendar
