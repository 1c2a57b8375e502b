// Package processes reads the process table of Linux.
package processes

import "errors"

// ErrNoTable is the answer of other systems.
var ErrNoTable = errors.New("the process table is read on Linux only")

// Process is an entry of the process table. PID and Start together name a process.
type Process struct {
	PID, Parent, Group int
	// Start is in clock ticks since boot, Ticks is the CPU time in clock ticks.
	Start, Ticks uint64
	Zombie       bool
}

// Descendants returns the processes below root.
func Descendants(table []Process, root int) []Process {
	return Closure(table, func(p Process) bool { return p.Parent == root })
}

// Closure returns the chosen processes and their descendants.
func Closure(table []Process, chosen func(Process) bool) []Process {
	in := make(map[int]bool, len(table))
	for grown := true; grown; {
		grown = false
		for _, p := range table {
			if !in[p.PID] && (in[p.Parent] || chosen(p)) {
				in[p.PID], grown = true, true
			}
		}
	}
	members := make([]Process, 0, len(in))
	for _, p := range table {
		if in[p.PID] {
			members = append(members, p)
		}
	}
	return members
}
