//go:build unix && !linux

package command

import (
	"os/exec"
	"syscall"
)

func groupOfItsOwn() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// awaitExit reaps, for want of a portable waitid: the last signal to the group
// goes to an id that is free, which matters only if the kernel hands it out
// again within the same moment. command.Wait then only returns the error that
// it was waited for; the state is kept.
func awaitExit(command *exec.Cmd) { _ = command.Wait() }
