//go:build !linux

package cgroup

import "github.com/roundsman/roundsman/internal/lib/rlimit"

// Tree creates no cgroups on this platform.
type Tree struct{}

// Rest returns all limits.
func (*Tree) Rest(limits rlimit.Limits) rlimit.Limits { return limits }

// Kill does nothing.
func Kill(string) {}

// Remove does nothing.
func Remove(string) {}

// Members returns no processes.
func Members(string) []int { return nil }
