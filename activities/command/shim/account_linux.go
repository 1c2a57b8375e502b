package shim

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/roundsman/roundsman/internal/lib/rlimit"
)

// MaySwitch is true if this process may start and end programs of other users.
func MaySwitch() bool {
	return capable(unix.CAP_SETUID) && capable(unix.CAP_SETGID) && capable(unix.CAP_KILL)
}

func capable(capability int) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&header, &data[0]) != nil { // Version 3 fills both elements.
		return false
	}
	return data[capability/32].Effective&(1<<(capability%32)) != 0
}

const (
	// niceZero is the value of RLIMIT_NICE for a priority of 0.
	niceZero = 20
	// ioRealtime is IOPRIO_CLASS_RT.
	ioRealtime = 1
)

// Allowed reports a setting that this worker may not make.
func (s *Setup) Allowed() error {
	if s == nil {
		return nil
	}
	if err := s.limitable(); err != nil {
		return err
	}
	if capable(unix.CAP_SYS_NICE) {
		return nil
	}
	var limit unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NICE, &limit)
	if own, err := unix.Getpriority(unix.PRIO_PROCESS, 0); s.Nice != nil && err == nil && *s.Nice < niceZero-own && niceZero-*s.Nice > int(limit.Cur) { //nolint:gosec // at most 40
		return fmt.Errorf("NOT_ALLOWED: this worker may not set nice %d: add CAP_SYS_NICE to AmbientCapabilities in its unit", *s.Nice)
	}
	if s.IOClass == ioRealtime {
		return fmt.Errorf("NOT_ALLOWED: this worker may not set ionice realtime: add CAP_SYS_NICE to AmbientCapabilities in its unit")
	}
	return nil
}

func (s *Setup) limitable() error {
	return rlimit.Allowed(s.Limits, s.uid(), capable(unix.CAP_SYS_RESOURCE))
}

func (s *Setup) uid() int {
	if s.Switch {
		return s.UID
	}
	return os.Geteuid()
}
