// Package load holds large pure cores, and one event for each kind of change to them. Benchmarks use it to
// measure the cost of an event at several sizes.
package load

// Case is one kind of event. Step applies Events events of it.
type Case struct {
	Name   string
	Events int
	Step   func()
}
