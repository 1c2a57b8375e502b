// Package seaweedfs holds the interface definitions of SeaweedFS that Roundsman
// speaks, and the test that the Go code next to them is what they generate.
// `make proto` generates it again. Decisions are in plan and steps, the
// connections in weed, a gateway for `weed worker` in gateway.
package seaweedfs
