// Package seaweedfs holds the interface definitions of SeaweedFS, and a test that the Go code next to them is
// current. `make proto` generates it. Decisions are in plan and steps, the connections in weed, a gateway for
// `weed worker` in gateway.
package seaweedfs
