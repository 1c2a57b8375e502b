// Package rest serves the gateway for remote workers over HTTP: docs/remote-workers.md
// is its manual. Besides the protocol of workers it has what a foreign worker manager
// expects below /workers: see [Workers].
package rest
