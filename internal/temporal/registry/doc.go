// Package registry is the client of the fleet's registry for those who speak for a
// worker process: the node worker for itself, the gateway for remote workers. It
// registers, reads settings, deregisters and sends heartbeats. The meaning of a refusal
// is its caller's decision.
package registry
