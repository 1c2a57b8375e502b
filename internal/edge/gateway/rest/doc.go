// Package rest serves the gateway for remote workers over HTTP; docs/remote-workers.md describes it. In
// addition to the protocol of workers it has the paths that foreign worker managers use below /workers:
// see [Workers].
package rest
