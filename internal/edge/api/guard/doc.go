// Package guard checks every request before its route: the Host and Origin headers, the headers of trusted
// proxies and the base path. A loopback listener without a log-in needs the check of Host too: a page of
// another site can resolve its own name to this host (DNS rebinding).
package guard
