// Package run is the part of a run's workflow that does not depend on where its
// items come from: a job group and a DAG both have a [Runner]. The core of the
// workflow decides, the Runner carries its [engine.Decision] values out and
// returns what happens as events:
//
//	for !ended {
//		continueAsNew()
//		runner.Wait(wake, ordered, ready)           // sends; ready is runner.Ready(), or a message of the workflow's own
//		runner.Collect()
//		for _, event := range runner.Endings(item) { step(event) }  // and the other collect methods
//	}
//
// The Runner keeps attempts, probes, the subscription to the fleet, requests to
// admission ([Link]), the audit recorder, timers, and what does not fit into one
// workflow task ([Backlog]). No rule about items lives here.
//
// Everything happens in one coroutine, on a context that a cancellation of the
// workflow does not reach: wait until anything is ready, tell the core, carry out
// its decisions. A Selector would cost twice as much per event.
package run
