// Package cputime reads the CPU time and the memory of processes.
package cputime

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// ticksPerSecond is the unit of /proc/<pid>/stat, USER_HZ, which is 100 on every Linux platform of the Go toolchain.
const ticksPerSecond = 100

// Seconds returns the user and system time of a process so far.
func Seconds(pid int) (float64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The second field is the command in parentheses, which may contain spaces.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const user, system = 11, 12
	if len(fields) <= system {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	var total float64
	for _, field := range [][]byte{fields[user], fields[system]} {
		ticks, err := strconv.ParseFloat(string(field), 64)
		if err != nil {
			return 0, err
		}
		total += ticks
	}
	return total / ticksPerSecond, nil
}

// ResetPeak begins a new measurement of [PeakMB].
func ResetPeak(pid int) error {
	const peak = "5"
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte(peak), 0)
}

// PeakMB returns the largest resident memory of a process since its start or [ResetPeak], in MB.
func PeakMB(pid int) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0, fmt.Errorf("/proc/%d/status has no VmHWM", pid)
	}
	kib, err := strconv.ParseFloat(string(fields[0]), 64)
	return kib / 1000 * 1.024, err
}
