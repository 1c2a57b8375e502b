//go:build !linux

package command

import (
	"syscall"
	"time"
)

type process struct {
	pid, parent, group int
	start, ticks       uint64
	zombie             bool
}

func processTable() ([]process, error)       { return nil, errNoProcessTable }
func offspring([]int) ([]process, bool)      { return nil, false }
func readProcess(int) (process, bool)        { return process{}, false }
func transferred(int) uint64                 { return 0 }
func marked(int, string, time.Duration) bool { return false }
func bootID() (string, error)                { return "", errNoProcessTable }

func (process) signal(syscall.Signal) {}
