//go:build !linux

package processes

import (
	"syscall"
	"time"
)

// Table returns [ErrNoTable].
func Table() ([]Process, error) { return nil, ErrNoTable }

// Offspring returns false.
func Offspring([]int) ([]Process, bool) { return nil, false }

// Read returns false.
func Read(int) (Process, bool) { return Process{}, false }

// Transferred returns 0.
func Transferred(int) uint64 { return 0 }

// Marked returns false.
func Marked(int, string, time.Duration) bool { return false }

// BootID returns [ErrNoTable].
func BootID() (string, error) { return "", ErrNoTable }

// Signal does nothing.
func (Process) Signal(syscall.Signal) {}
