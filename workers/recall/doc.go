// Package recall rebuilds the state of an open run from its history, for readers without a control plane: it replays
// the workflow and queries it. See docs/adr/0109-recall.md.
package recall
