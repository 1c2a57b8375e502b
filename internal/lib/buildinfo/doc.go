// Package buildinfo says which version of Roundsman is running: in `--version`,
// in a worker's registration and in bug reports. It imports the standard
// library only, so that every layer may use it.
package buildinfo
