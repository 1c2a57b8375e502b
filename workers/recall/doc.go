// Package recall rebuilds the state of an open run from its history, for readers without a control plane. It
// replays the history with the workflow's own code and calls its query handlers.
package recall
