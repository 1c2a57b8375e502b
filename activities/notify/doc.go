// Package notify has the activities of the notifier, which run in the control plane: its configuration has the receivers.
//
// A history contains only the name of a receiver. Addresses, secrets and the output of commands stay in the process.
package notify
