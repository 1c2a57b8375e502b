// Package registry is the client of the fleet's registry, for node workers and for the gateway.
package registry
