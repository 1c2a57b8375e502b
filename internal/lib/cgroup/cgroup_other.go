//go:build !linux

package cgroup

import "github.com/roundsman/roundsman/internal/lib/launch"

// Tree makes no cgroups here.
type Tree struct{}

// Rest returns all limits.
func (*Tree) Rest(limits launch.Limits) launch.Limits { return limits }

// Kill has nothing to kill.
func Kill(string) {}

// Remove has nothing to remove.
func Remove(string) {}

// Members returns no processes.
func Members(string) []int { return nil }
