package dag

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

func (c *commands) dagRetry() *cli.Command {
	return &cli.Command{
		Name: "retry", ArgsUsage: "RUN [FILE]", Usage: "run failed tasks again, and the tasks that they blocked",
		Description: dagRunArgument + `

Of a run that has ended a new run is started and followed as by ` + "`start`" + `: it takes over what
succeeded, with its results, and executes the rest. It has the deadline of the earlier run, its sizes
of pools unless --config declares others, and its tasks; with FILE
those of the spec as it is now, which is refused if they differ, unless --accept-diff: then what
changed, and everything after it, is executed too. In an open run its own tasks are tried again.

--from executes TASK, and everything that depends on it, again although it succeeded.

Examples:
  roundsman retry nightly
  roundsman retry nightly --from load --watch
  roundsman retry nightly nightly.yaml --accept-diff
  roundsman retry dag/nightly/20261120T090000-1f2e3d --detach --output json`,
		Flags: ui.With(append([]cli.Flag{
			&cli.StringSliceFlag{Name: "from", Usage: "execute `TASK` and everything after it again; may be given several times"},
			&cli.BoolFlag{Name: "accept-diff", Usage: "continue although FILE differs from the spec of the run"},
			&cli.StringFlag{Name: ui.FlagDeadline, Usage: "cancel the tasks of the new run and fail after `DURATION`, in addition to the spec's own deadline (default: as for the earlier run)"},
			&cli.StringFlag{Name: "as", Usage: "call the new run dag/<name of the DAG>/`NAME` (default: the time)"},
			newParamFlag(),
		}, followFlags()...)...),
		Before: func(ctx *cli.Context) error {
			if ctx.Args().Len() < 2 && (ctx.Bool("accept-diff") || len(paramsOf(ctx)) > 0) {
				return ui.Usagef("--accept-diff and --param need the spec: give its FILE after the RUN")
			}
			if _, err := dagOptions(ctx, ""); err != nil {
				return err
			}
			return checkFollow(ctx)
		},
		Action: func(ctx *cli.Context) error {
			var compiled *spec.Compiled
			if file := ctx.Args().Get(1); file != "" {
				var err error
				if compiled, err = c.compileSpec(file, paramsOf(ctx)); err != nil {
					return err
				}
			}
			return c.onRun(func(ctx *cli.Context, client *starter.Client, ref starter.RunRef) error {
				return c.retryDAG(ctx, client, ref, compiled)
			})(ctx)
		},
	}
}

func (c *commands) retryDAG(ctx *cli.Context, client *starter.Client, ref starter.RunRef, compiled *spec.Compiled) error {
	snapshot, err := client.Runs().Show(ctx.Context, ref)
	if err != nil {
		return err
	}
	if snapshot.Open() {
		return c.retryOpen(ctx, client, ref, compiled)
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
	retried, err := client.DAGs().Retry(ctx.Context, ref, starter.DAGRetry{
		From: ctx.StringSlice("from"), Compiled: compiled, AcceptDiff: ctx.Bool("accept-diff"), Options: options,
	})
	if diff, ok := errors.AsType[*dag.DiffError](err); ok {
		return ui.Faulty(fmt.Errorf("%s differs from the spec of the run: %w; add --accept-diff, or leave the file out", ctx.Args().Get(1), diff))
	}
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

func (c *commands) retryOpen(ctx *cli.Context, client *starter.Client, ref starter.RunRef, compiled *spec.Compiled) error {
	if compiled != nil {
		return ui.Usagef("%s is open: its tasks cannot be replaced; use `roundsman set RUN -f FILE`, or cancel it first", ref.WorkflowID)
	}
	if ctx.IsSet(ui.FlagDeadline) {
		return ui.Usagef("%s is open, so its tasks are retried in it: leave --deadline out, it is for a new run", ref.WorkflowID)
	}
	if ctx.IsSet("as") {
		return ui.Usagef("%s is open, so its tasks are retried in it: leave --as out, it names a new run", ref.WorkflowID)
	}
	from := ctx.StringSlice("from")
	if len(from) == 0 {
		changed, err := client.DAGs().RetryTasks(ctx.Context, ref, nil, c.Operator())
		if err != nil {
			return err
		}
		return c.changed(ctx, ref, changed, "trying %s again", ui.Plural(len(changed.Tasks), "task"))
	}
	changed, err := inTurn(from, "running again", func(task string) (contract.DAGChanged, error) {
		return client.DAGs().RerunTask(ctx.Context, ref, task, c.Operator())
	})
	if err != nil {
		return err
	}
	return c.changed(ctx, ref, changed, "running %s and what follows again", strings.Join(from, ", "))
}
