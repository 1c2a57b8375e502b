// Package registry is the client of the fleet's registry, for node workers and for the gateway,
// which represents remote workers. It registers, reads settings, deregisters and sends
// heartbeats. Callers decide about refusals.
package registry
