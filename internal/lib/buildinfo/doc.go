// Package buildinfo returns the running version of Roundsman. It imports only the standard library.
package buildinfo
