// Package workflows holds Roundsman's Temporal workflows. They are thin: they pass events to a pure core
// (internal/engine, dag) and carry out its decisions. They have no rules.
//
// Code in this package runs again on every replay. It must not read the clock, start goroutines, depend on the
// order of maps, or do I/O; see docs/determinism.md. A change that alters the sequence of commands needs a
// version constant in versions.go, a recorded history and a replay test.
package workflows
