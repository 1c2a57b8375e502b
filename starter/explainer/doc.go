// Package explainer finds out why something is not running, or what it waits for, or
// how it ended. It asks whoever knows (the server, the run, the registry, admission, a
// worker's process), only what is needed, and leaves the sentences to internal/engine/explain.
package explainer
