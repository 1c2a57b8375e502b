// Package explainer collects the facts about why something is not running, what it waits for or how
// it ended. It queries the server, the run, the registry, admission and the worker's process, only
// as needed. internal/engine/explain has the texts.
package explainer
