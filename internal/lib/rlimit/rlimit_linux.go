package rlimit

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// afterSIGXCPU is the CPU time between SIGXCPU and SIGKILL, in seconds.
const afterSIGXCPU = 1

type limit struct {
	key        string
	resource   int
	soft, hard uint64
	// late is set for a limit that the stage itself would hit.
	late bool
}

func of(l Limits) []limit {
	var limits []limit
	add := func(key string, resource int, value int64, late bool) {
		if value > 0 {
			limits = append(limits, limit{key, resource, uint64(value), uint64(value), late}) //nolint:gosec // validated
		}
	}
	add("pids", unix.RLIMIT_NPROC, int64(l.PIDs), true)
	add("open_files", unix.RLIMIT_NOFILE, int64(l.OpenFiles), false)
	add("memory", unix.RLIMIT_AS, int64(l.Memory), true)
	if seconds := uint64(l.CPU.Time.Std() / time.Second); seconds > 0 { //nolint:gosec // validated
		limits = append(limits, limit{"cpu", unix.RLIMIT_CPU, seconds, seconds + afterSIGXCPU, false})
	}
	if l.Core != nil {
		limits = append(limits, limit{"core", unix.RLIMIT_CORE, uint64(*l.Core), uint64(*l.Core), false}) //nolint:gosec // validated
	}
	return limits
}

// Allowed reports each limit that the process may not set, or that the kernel would ignore. mayRaise: it has CAP_SYS_RESOURCE.
func Allowed(l Limits, uid int, mayRaise bool) error {
	var faults []error
	for _, own := range of(l) {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(own.resource, &now); err != nil {
			faults = append(faults, fmt.Errorf("NOT_ALLOWED: limits.%s: %w", own.key, err))
		} else if own.hard > now.Max && !mayRaise {
			faults = append(faults, fmt.Errorf("NOT_ALLOWED: limits.%s: %d is above the worker's own limit, %d: lower it, or raise that of its unit", own.key, own.hard, now.Max))
		}
		if own.resource == unix.RLIMIT_NPROC && uid == 0 {
			faults = append(faults, errors.New("NOT_ALLOWED: limits.pids: without a cgroup Linux limits no processes of root: set user, or Delegate=yes in the unit of the worker"))
		}
	}
	if l.CPU.Cores > 0 {
		faults = append(faults, errors.New("NOT_ALLOWED: limits.cpu: a number of CPUs needs a cgroup v2 with the controller cpu: set Delegate=yes in the unit of the worker, or give CPU time, such as 10m"))
	}
	return errors.Join(faults...)
}

// Raise prepares the process. Limits that the stage would hit itself get their hard value only.
func Raise(l Limits) error {
	for _, own := range of(l) {
		next := syscall.Rlimit{Cur: own.soft, Max: own.hard}
		if own.late {
			if err := syscall.Getrlimit(own.resource, &next); err != nil {
				return fmt.Errorf("limits.%s: %w", own.key, err)
			}
			next.Max = max(next.Max, own.hard)
		}
		if err := syscall.Setrlimit(own.resource, &next); err != nil {
			return fmt.Errorf("limits.%s: %w", own.key, err)
		}
	}
	return nil
}

// Lower sets the late limits. Nothing but the start of the program may follow.
func Lower(l Limits) error {
	for _, own := range of(l) {
		if !own.late {
			continue
		}
		if err := syscall.Setrlimit(own.resource, &syscall.Rlimit{Cur: own.soft, Max: own.hard}); err != nil {
			return fmt.Errorf("limits.%s: %w", own.key, err)
		}
	}
	return nil
}
