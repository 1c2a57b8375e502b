// Package gateway serves unmodified `weed worker` processes: it is the admin end
// of their gRPC stream. Each worker becomes a worker of the fleet, with one handler for
// each of its job types, so that placement, lanes, windows, retries, explain and audit
// are those of every other worker.
//
// A session ([session.Session]) decides what is said on one stream; package translate
// turns messages into Roundsman's data. This package is the I/O: the gRPC and HTTP
// servers, one [link] for each stream, and the handlers.
//
// The gateway holds no durable state. Killed, it loses its streams, whose workers stop
// what they run and connect again; the jobs are placed again by their groups.
package gateway
