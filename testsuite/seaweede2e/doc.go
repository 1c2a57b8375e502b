// Package seaweede2e tests the handlers for SeaweedFS with a server, a control plane, workers and a fake
// cluster, each a process that can be killed.
package seaweede2e
