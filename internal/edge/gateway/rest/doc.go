// Package rest serves the gateway for remote workers over HTTP (docs/remote-workers.md), and paths of foreign worker
// managers below /workers: see [Workers].
package rest
