package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/receiver"
	"github.com/roundsman/roundsman/jobtype"
)

// maxOutput is how much of a command's output goes to the control plane's log.
const maxOutput = 1 << 10

// run starts the command with the body as its input, in a process group of its own,
// which ends with the time limit. Its environment is PATH, HOME and LANG of the control
// plane and the notification's id and event. Its output goes to the log of the
// control plane alone.
func (a *Activities) run(ctx context.Context, to receiver.Command, n contract.Notification, body []byte) error {
	output := &tail{}
	command := exec.CommandContext(ctx, to.Argv[0], to.Argv[1:]...) //nolint:gosec // the operator's own configuration names it
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(body), output, output
	command.Env = []string{"ROUNDSMAN_NOTIFICATION_ID=" + n.ID, "ROUNDSMAN_NOTIFICATION_EVENT=" + string(n.Event)}
	for _, name := range []string{"PATH", "HOME", "LANG"} {
		command.Env = append(command.Env, name+"="+os.Getenv(name))
	}
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = time.Second
	err := command.Run()
	if err == nil {
		return nil
	}
	a.options.Log.Warn("The command of a receiver failed.", "command", to.Argv[0], "notification", n.ID, "error", err, "output", jobtype.OneLine(string(output.kept), maxOutput))
	if ctx.Err() != nil {
		return errors.New("the command did not end within its time limit")
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("the command ended with %s; its output is in the control plane's log", exit.ProcessState)
	}
	return err
}

// tail keeps the end of what is written.
type tail struct{ kept []byte }

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - maxOutput; over > 0 {
		t.kept = append([]byte(nil), t.kept[over:]...)
	}
	return len(p), nil
}
