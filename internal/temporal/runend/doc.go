// Package runend sees the runs that a control plane brings to their end: it counts
// their outcomes and logs one line for each.
//
// [Watcher] is an interceptor of the connection. A run has ended when the server took
// the answer to its last workflow task, so several control planes each count what they
// served, and nothing twice. Runs that were terminated in Temporal pass no control
// plane and are not counted. Nothing is asked of the server.
package runend
