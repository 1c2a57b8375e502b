//go:build unix

package gatewaye2e

import "syscall"

// ownGroup lets kill reach the programs that a shell script has started.
func (p *process) ownGroup() { p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// kill is kill -9 to the process and all that it started, and waits for its end.
func (p *process) kill() {
	_ = syscall.Kill(-p.Process.Pid, syscall.SIGKILL)
	<-p.done
}
