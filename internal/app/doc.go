// Package app is the composition root. It builds Roundsman's processes from configuration and options: the
// control plane, a node worker, and `dev`, which has both and a Temporal server. It starts and stops their
// parts in order. The workflows decide what to run where and when.
package app
