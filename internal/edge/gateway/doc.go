// Package gateway lets programs in any language be workers. It translates a few
// calls into Temporal's own activity API: nothing of it knows HTTP or gRPC, which
// stand on it.
//
// A gateway keeps no state and no goroutine per worker. All that it must know of a
// worker is in the worker's token, all that it must know of an attempt is in the
// lease, and the progress of a detection is in its cursor. Each is sealed with a key
// that every gateway of the namespace has (see [SharedSecret]) and names its worker:
// a client may go to another gateway for the next call, and cannot use what was
// given to another worker.
//
// The rules of the engine's own workers hold here by the same code: those of
// package activities/jobs for params, results, pages and late outcomes, and those of
// internal/temporal/registry for registration and heartbeats.
package gateway
