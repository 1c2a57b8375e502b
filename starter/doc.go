// Package starter is the typed client of Roundsman. It sends the messages of [contract] to a Temporal server, and
// holds no workflow code and no state.
package starter
