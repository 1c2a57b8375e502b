// Package notify has the activities of the notifier: [Activities.WatchEvents] finds events,
// [Activities.Deliver] delivers a notification to a receiver. Both run in the control plane,
// whose configuration has the receivers and the global rules.
//
// A history contains only the name of a receiver. Addresses, secrets and the output of commands
// stay in the process.
package notify
