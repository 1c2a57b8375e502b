// Package guard checks every request before its route: the Host and Origin headers, proxies and the base path.
// Without a log-in a loopback listener needs this too: a page can resolve its own name to this host (DNS rebinding).
package guard
