// Package app is the composition root. It builds Roundsman's processes from configuration and options, and starts and
// stops their parts in order.
package app
