// Package calendar has the commands about scheduled instants: forecast lists those of the next days, ledger
// lists the outcomes of the last days.
package calendar
