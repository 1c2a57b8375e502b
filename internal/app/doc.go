// Package app is the composition root: it builds Roundsman's processes (the
// control plane, a node worker, and `dev`, which is all of them together with a
// Temporal server) out of configuration and options, and starts and stops their
// parts in order.
//
// Nothing here decides what to run where or when; that is for the workflows.
package app
