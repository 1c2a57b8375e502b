// Package weede2e runs the gateway for weed workers as it is run: a server, a control
// plane, a gateway and fake workers, each a process of its own that can be killed.
package weede2e
