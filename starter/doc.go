// Package starter is the typed client of Roundsman. It applies job types to Temporal
// Schedules, starts, watches and cancels their runs, and operates workers. It sends the
// messages of [contract] to a Temporal server, and holds no workflow code and no state.
package starter
