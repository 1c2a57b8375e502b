// Package cgroup gives each program a cgroup (v2) of its own, with its limits, where the process may
// divide its own cgroup.
package cgroup
