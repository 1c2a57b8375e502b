// Package explainer collects the facts about a thing that does not run: its wait or its end. It queries the
// server, the run, the registry, admission and the worker's process as needed. internal/engine/explain has the
// texts.
package explainer
