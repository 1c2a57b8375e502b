// Package buildinfo returns the running version of Roundsman for `--version`, workers' registrations and bug
// reports. It imports only the standard library, so that every package may use it.
package buildinfo
