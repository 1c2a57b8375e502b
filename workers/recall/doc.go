// Package recall rebuilds the state of an open run from its history, for readers without a control plane.
package recall
