package notify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/roundsman/roundsman/activities/command"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/internal/lib/receiver"
	"github.com/roundsman/roundsman/internal/lib/tail"
	"github.com/roundsman/roundsman/jobtype"
)

// maxOutput bounds the output of a command in the control plane's log.
const maxOutput = 1 << 10

// run starts the command with the body as its input. The command and its children end at the time limit. Its
// environment is PATH, HOME and LANG, the notification's id and event, and the receiver's variables. Its output goes
// only to the log of the control plane.
func (a *Activities) run(ctx context.Context, to receiver.Command, n contract.Notification, body []byte) error {
	output := tail.New(maxOutput)
	environ := lists.Map([]string{"PATH", "HOME", "LANG"}, func(name string) string { return name + "=" + os.Getenv(name) })
	keys := to.Spec
	if keys.KillGrace == nil {
		keys.KillGrace = new(jobtype.Duration(time.Second)) // The time limit is over.
	}
	exit, err := a.runner.Run(ctx, command.Call{
		Argv: to.Argv, Keys: keys, Environ: environ, Input: body, Output: output,
		Own: []string{"ROUNDSMAN_NOTIFICATION_ID=" + n.ID, "ROUNDSMAN_NOTIFICATION_EVENT=" + string(n.Event)},
	})
	if err == nil && exit.Signal == "" && (to.ExitCodes.Succeeded(exit.Code) || to.ExitCodes.Warned(exit.Code)) {
		return nil
	}
	a.options.Log.Warn("The command of a receiver failed.", "command", to.Argv[0], "notification", n.ID, "error", err, "exit", exit.String(), "output", jobtype.OneLine(output.Text(), maxOutput))
	if ctx.Err() != nil {
		return errors.New("the command did not end within its time limit")
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("the command ended with %s; its output is in the control plane's log", exit)
}
