// Package weede2e tests the gateway for weed workers with a server, a control plane, a gateway and fake
// workers, each a process that can be killed.
package weede2e
