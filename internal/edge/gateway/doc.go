// Package gateway lets programs in any language be workers. It translates a few calls into Temporal's
// activity API. It is independent of HTTP and gRPC, which are built on it.
//
// A gateway has no state and no goroutine per worker. The worker's token identifies the worker, the
// lease identifies an attempt, and the cursor holds the progress of a detection. Each is sealed with a
// key that all gateways of the namespace share (see [SharedSecret]), and names its worker. So a client
// may use another gateway for each call, and cannot use the leases of other workers.
//
// The rules of node workers apply through the same code: package activities/jobs for params, results,
// pages and late outcomes, and internal/temporal/registry for registration and heartbeats.
package gateway
