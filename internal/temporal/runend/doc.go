// Package runend counts the outcomes of the runs that a control plane completes, and logs one line for each.
//
// [Watcher] is an interceptor of the connection, so of several control planes each counts its own runs. Terminated
// runs pass no control plane and are not counted.
package runend
