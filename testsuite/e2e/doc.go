// Package e2e runs Roundsman as operators do: the real server, the binary of `make build` as control plane and
// workers in separate processes, a configuration applied from a file, and jobs with side effects counted on
// disk. Tests kill real processes.
package e2e
