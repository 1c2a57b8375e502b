// Package placement decides, purely, which worker gets a piece of work, and
// remembers what a job group or DAG run has learned about the workers: how much
// it runs on each, which one said that it is full, which one lost something and
// has to show first that it lives.
//
// Only a worker that is ONLINE, fresh, capable and not suspect is chosen; among
// those the one with most free slots, ties in turn. A [Fleet] belongs to one
// decider and is not safe for concurrent use. Time enters as data.
package placement
