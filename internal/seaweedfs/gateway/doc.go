// Package gateway serves unmodified `weed worker` processes: it is the admin end of their gRPC
// stream. Each worker becomes a worker of the fleet, with one handler per job type. So
// placement, lanes, windows, retries, explain and audit apply as to any other worker.
//
// A session ([session.Session]) holds the protocol of one stream; package translate converts
// messages to Roundsman's data. This package does the I/O: the gRPC and HTTP servers, one [link]
// per stream, and the handlers.
//
// The gateway has no durable state. If it is killed, its workers stop their work and connect
// again, and the groups place the jobs again.
package gateway
