// Package gateway serves unmodified `weed worker` processes: it is the admin end of their gRPC stream. Each worker
// becomes a worker of the fleet, with one handler per job type.
//
// A [session.Session] holds the protocol of one stream; package translate converts messages. This package does the
// I/O. It has no durable state: after a kill its workers connect again, and the groups place the jobs again.
package gateway
