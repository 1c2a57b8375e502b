package dag

import (
	"cmp"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

// RetryFlags are flags of a retry that are accepted and not shown.
func RetryFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: flagDeadline, Hidden: true, Usage: "cancel the tasks of the new run and fail after `DURATION`"},
		&cli.StringFlag{Name: FlagAs, Hidden: true, Usage: "call the new run dag/<name of the DAG>/`NAME`"},
	}
}

// CheckOptions judges the options of a new run.
func CheckOptions(ctx *cli.Context) error {
	_, err := dagOptions(ctx, "")
	return err
}

// Retry runs failed tasks again, and the tasks that they blocked. Of a run that has ended it starts a new run, which takes
// over what succeeded. The tasks of from execute again, too, with everything that depends on them.
func Retry(p *ui.Program, ctx *cli.Context, client *starter.Client, ref starter.RunRef, from []string) error {
	c := &commands{p}
	var compiled *spec.Compiled
	if file := ctx.String(ui.FlagFile); file != "" {
		var err error
		if compiled, err = c.compileSpec(file, nil); err != nil {
			return err
		}
	}
	snapshot, err := client.Runs().Show(ctx.Context, ref)
	if err != nil {
		return err
	}
	if snapshot.Open() {
		return c.retryOpen(ctx, client, ref, compiled, from)
	}
	declared, err := c.Settings(ctx)
	if err != nil {
		return err
	}
	options, err := dagOptions(ctx, c.Operator())
	if err != nil {
		return err
	}
	options.Resources = declared.Resources
	retried, err := client.DAGs().Retry(ctx.Context, ref, starter.DAGRetry{From: from, Compiled: compiled, AcceptDiff: compiled != nil, Options: options})
	if err != nil {
		return tooLargeIsFaulty(err)
	}
	c.Complain("%s takes over %s of %s and executes %d",
		retried.WorkflowID, ui.Plural(retried.Imported, "task"), retried.Resumes, len(retried.Executed))
	if n := len(retried.Dropped); n > 0 {
		c.Complain("%s added to %s cannot come along, add them again: %s",
			ui.Plural(n, "task"), retried.Resumes, strings.Join(retried.Dropped[:min(n, 10)], ", "))
	}
	name := snapshot.DAG
	if compiled != nil {
		name = compiled.Header.Name
	}
	return c.started(ctx, client.Runs(), cmp.Or(name, retried.WorkflowID), retried.RunRef)
}

func (c *commands) retryOpen(ctx *cli.Context, client *starter.Client, ref starter.RunRef, compiled *spec.Compiled, from []string) error {
	if compiled != nil {
		return ui.Usagef("%s is open: its tasks cannot be replaced; use `roundsman set RUN -f FILE`, or cancel it first", ref.WorkflowID)
	}
	if ctx.IsSet(flagDeadline) {
		return ui.Usagef("%s is open, so its tasks are retried in it: leave --deadline out, it is for a new run", ref.WorkflowID)
	}
	if ctx.IsSet(FlagAs) {
		return ui.Usagef("%s is open, so its tasks are retried in it: leave --as out, it names a new run", ref.WorkflowID)
	}
	if len(from) == 0 {
		retried, err := client.DAGs().RetryTasks(ctx.Context, ref, nil, c.Operator())
		if err != nil {
			return err
		}
		return changed(c.Program, ctx, ref, retried, "trying %s again", ui.Plural(len(retried.Tasks), "task"))
	}
	rerun, err := inTurn(from, "running again", func(task string) (contract.DAGChanged, error) {
		return client.DAGs().RerunTask(ctx.Context, ref, task, c.Operator())
	})
	if err != nil {
		return err
	}
	return changed(c.Program, ctx, ref, rerun, "running %s and what follows again", strings.Join(from, ", "))
}
