// Package e2e runs Roundsman as operators do: the real server, the real binary
// as control plane and workers in processes of their own, configuration applied
// from a file, and jobs whose side effects are counted on disk. Processes are
// really killed. `make build` must have been run.
package e2e
