// Package seaweede2e runs the handlers for SeaweedFS as they are run: a server, a
// control plane, workers and a fake cluster, each a process of its own that can be
// killed.
package seaweede2e
