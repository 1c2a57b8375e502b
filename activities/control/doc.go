// Package control holds the short activities of the control plane: what a job
// group has to know before it detects, and keeping the worker registry alive.
//
// They change nothing but the existence of the registry and subscriptions to
// it, both of which may be repeated.
package control
