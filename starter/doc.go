// Package starter is the typed client of Roundsman: it applies job types to
// Temporal Schedules, starts, watches and cancels their runs, and asks after
// workers. It speaks [contract] to a Temporal server and holds no workflow code
// and no state of its own.
package starter
