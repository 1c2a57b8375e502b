// Package notify has the activities of the notifier: [Activities.WatchEvents] looks at
// what happens, [Activities.Deliver] tells a receiver. Both run in the control plane,
// whose configuration has the receivers and the rules that hold for all.
//
// A receiver is named in a history, and nothing else of it is: addresses, secrets and
// what a command prints stay in the process.
package notify
