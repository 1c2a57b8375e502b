// Package gatewaye2e tests remote workers end to end: the real server, the control
// plane and gateways as processes of their own, and clients that know nothing but the
// gateway.
package gatewaye2e
