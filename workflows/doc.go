// Package workflows holds Roundsman's Temporal workflows. They are thin: they
// receive events, pass them to a pure core (internal/engine, dag) and carry its
// decisions out. No rule lives here.
//
// Code in this package runs again on every replay. It must not read the clock,
// start goroutines, range over maps where order matters, or do I/O; see
// docs/determinism.md. A change that alters the sequence of commands needs a
// version constant in versions.go, a recorded history and a replay test.
package workflows
