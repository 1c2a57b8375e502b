//go:build !linux

package cgroup

import "github.com/roundsman/roundsman/internal/lib/launch"

// Tree creates no cgroups on this platform.
type Tree struct{}

// Rest returns all limits.
func (*Tree) Rest(limits launch.Limits) launch.Limits { return limits }

// Kill does nothing.
func Kill(string) {}

// Remove does nothing.
func Remove(string) {}

// Members returns no processes.
func Members(string) []int { return nil }
