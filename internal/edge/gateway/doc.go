// Package gateway lets programs in any language be workers. It translates a few calls into Temporal's activity API.
//
// A gateway has no state and no goroutine per worker. Worker's token, lease and the cursor of a detection are sealed
// with a key that all gateways of the namespace share (see [SharedSecret]). So a client may use another gateway for
// each call, and cannot use the leases of other workers. The rules of node workers apply through the same code.
package gateway
