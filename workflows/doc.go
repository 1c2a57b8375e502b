// Package workflows holds Roundsman's Temporal workflows. They pass events to a pure core (internal/engine, dag),
// carry out its decisions and have no rules.
//
// Code in this package runs again on every replay. It must not read the clock, start goroutines, depend on the order
// of maps, or do I/O; see docs/determinism.md. A change of the sequence of commands needs a version constant in
// versions.go, a recorded history and a replay test.
package workflows
