// Package runend counts the outcomes of the runs that a control plane completes, and logs one
// line for each.
//
// [Watcher] is an interceptor of the connection. A run has ended when the server accepted
// the completion of its last workflow task. So of several control planes each counts its own
// runs, and no run is counted twice. Runs that were terminated in Temporal pass no control
// plane and are not counted. The package sends no requests.
package runend
