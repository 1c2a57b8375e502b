// Package gatewaye2e tests remote workers end to end: the real server, a control plane and gateways as
// processes, and clients that use only the gateway.
package gatewaye2e
