//go:build unix && !linux

package command

import (
	"os/exec"
	"syscall"
)

func groupOfItsOwn() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// awaitExit reaps, for want of a portable waitid. So the last signal may go to a free id, which matters only if the
// kernel reuses it in the same moment. A later command.Wait returns an error; the state is kept.
func awaitExit(command *exec.Cmd) { _ = command.Wait() }
