// Package run is the common part of the workflows of job groups and DAGs: both have a [Runner].
// The core of the workflow (a source of internal/engine/run) decides. The Runner carries out its
// decisions and returns events:
//
//	for !ended {
//		continueAsNew()
//		runner.Wait(wake, ordered, ready)           // sends; ready is runner.Ready(), or a message of the workflow's own
//		runner.Collect()
//		for _, event := range runner.Endings(item) { step(event) }  // and the other collect methods
//	}
//
// The Runner holds attempts, probes, timers, the audit recorder and the subscription to the fleet. It has no rules
// about items. All code runs in one coroutine, on a context that a cancellation of the workflow does not reach. A
// Selector would cost twice as much per event.
package run
