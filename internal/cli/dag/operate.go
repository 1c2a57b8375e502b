package dag

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/cli/progress"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

// eachTask makes a command that does one thing to tasks of an open run.
func (c *commands) eachTask(command cli.Command, done string, act func(*cli.Context, *starter.Client, starter.RunRef, string) (contract.DAGChanged, error)) *cli.Command {
	command.ArgsUsage = "RUN TASK..."
	command.Action = c.onRun(func(ctx *cli.Context, client *starter.Client, ref starter.RunRef) error {
		tasks := ctx.Args().Tail()
		changed, err := inTurn(tasks, done, func(task string) (contract.DAGChanged, error) { return act(ctx, client, ref, task) })
		if err != nil {
			return err
		}
		changed.Tasks = tasks
		return c.changed(ctx, ref, changed, "%s %s", done, strings.Join(tasks, ", "))
	})
	return &command
}

// inTurn does one thing to several tasks. An error says what was done before it.
func inTurn(tasks []string, done string, act func(string) (contract.DAGChanged, error)) (changed contract.DAGChanged, err error) {
	for i, task := range tasks {
		if changed, err = act(task); err != nil {
			if i > 0 {
				err = fmt.Errorf("%s %s, but then: %w", done, strings.Join(tasks[:i], ", "), err)
			}
			return changed, err
		}
	}
	return changed, nil
}

// changed confirms what was done to a run, and how it is now.
func (c *commands) changed(ctx *cli.Context, ref starter.RunRef, changed contract.DAGChanged, format string, args ...any) error {
	value := map[string]any{"workflow_id": ref.WorkflowID, "counts": changed.Counts, "tasks": ui.OrEmpty(changed.Tasks)}
	line := fmt.Sprintf(format, args...) + ": " + ref.WorkflowID
	if counts := progress.DAGCounts(changed.Counts); counts != "" {
		line += " now has " + counts
	}
	return c.Done(ctx, value, "%s", line)
}

func (c *commands) dagSkip() *cli.Command {
	return c.eachTask(cli.Command{
		Name: "skip", Usage: "let tasks count as done without running them; what they blocked goes on",
		Description: dagRunArgument + `

Tasks that have not started, failed or were blocked can be skipped.

Examples:
  roundsman dag skip nightly report --reason "not needed today"
  roundsman dag skip dag/nightly/20261120T090000-1f2e3d load.7 load.9`,
		Flags: ui.With(ui.ReasonFlag()),
	}, "skipped", func(ctx *cli.Context, client *starter.Client, ref starter.RunRef, task string) (contract.DAGChanged, error) {
		return client.DAGs().SkipTask(ctx.Context, ref, task, c.Operator(), ctx.String(ui.FlagReason))
	})
}

func (c *commands) dagApprove() *cli.Command {
	return c.eachTask(cli.Command{
		Name: "approve", Usage: "let tasks go on that wait for an approval",
		Description: dagRunArgument + `

Examples:
  roundsman dag approve rolling-maintenance go-ahead
  roundsman dag approve rolling-maintenance go-ahead --note "window agreed with the owners"`,
		Flags: ui.With(ui.NoteFlag()),
	}, "approved", func(ctx *cli.Context, client *starter.Client, ref starter.RunRef, task string) (contract.DAGChanged, error) {
		return client.DAGs().ApproveTask(ctx.Context, ref, task, c.Operator(), ctx.String(ui.FlagNote))
	})
}

func (c *commands) dagReject() *cli.Command {
	return c.eachTask(cli.Command{
		Name: "reject", Usage: "fail tasks that wait for an approval",
		Description: dagRunArgument + `

Examples:
  roundsman dag reject rolling-maintenance go-ahead
  roundsman dag reject rolling-maintenance go-ahead --note "not before the backup"`,
		Flags: ui.With(ui.NoteFlag()),
	}, "rejected", func(ctx *cli.Context, client *starter.Client, ref starter.RunRef, task string) (contract.DAGChanged, error) {
		return client.DAGs().RejectTask(ctx.Context, ref, task, c.Operator(), ctx.String(ui.FlagNote))
	})
}

func (c *commands) dagCancel() *cli.Command {
	return &cli.Command{
		Name: "cancel", ArgsUsage: "RUN", Usage: "cancel a run, or some of its tasks: what runs is stopped, the rest never starts",
		Description: dagRunArgument + `

Tasks with trigger_rule always still run, to clean up; a second cancel stops those too. With --task
only those tasks are canceled; what depends on them is blocked.

Examples:
  roundsman dag cancel nightly
  roundsman dag cancel nightly --reason "disk is being replaced" --wait
  roundsman dag cancel nightly --task load.7 --task load.9`,
		Flags: ui.With(
			ui.ReasonFlag(),
			&cli.StringSliceFlag{Name: ui.FlagTask, Usage: "cancel only `TASK`; may be given several times"},
			&cli.BoolFlag{Name: ui.FlagWait, Usage: "wait until the run has ended"},
		),
		Before: func(ctx *cli.Context) error {
			if ctx.Bool(ui.FlagWait) && ctx.IsSet(ui.FlagTask) {
				return ui.Usagef("--wait waits for the end of a run and does not go with --task")
			}
			return nil
		},
		Action: c.onRun(c.cancelDAG),
	}
}

func (c *commands) cancelDAG(ctx *cli.Context, client *starter.Client, ref starter.RunRef) error {
	if tasks := ctx.StringSlice(ui.FlagTask); len(tasks) > 0 {
		const done = "cancel requested for"
		changed, err := inTurn(tasks, done, func(task string) (contract.DAGChanged, error) {
			return client.DAGs().CancelTask(ctx.Context, ref, task, c.Operator(), ctx.String(ui.FlagReason))
		})
		if err != nil {
			return err
		}
		changed.Tasks = tasks
		return c.changed(ctx, ref, changed, "%s %s", done, strings.Join(tasks, ", "))
	}
	if err := client.DAGs().Cancel(ctx.Context, ref, ctx.String(ui.FlagReason)); err != nil {
		return err
	}
	if ctx.Bool(ui.FlagWait) {
		result, err := client.DAGs().Await(ctx.Context, ref)
		if err != nil {
			return err
		}
		return c.Done(ctx, map[string]any{"workflow_id": ref.WorkflowID, "requested": "cancel", "outcome": result.Outcome},
			"%s: %s has ended with %s", result.Outcome, ref.WorkflowID, progress.DAGCounts(result.Counts))
	}
	return c.Done(ctx, map[string]any{"workflow_id": ref.WorkflowID, "requested": "cancel"},
		"cancel requested: %s (follow it with `roundsman runs watch %s`)", ref.WorkflowID, ref.WorkflowID)
}

func (c *commands) dagAddTasks() *cli.Command {
	return &cli.Command{
		Name: "add-tasks", ArgsUsage: "RUN FILE", Usage: "add tasks to a run that goes on",
		Description: dagRunArgument + `

FILE is a list of tasks as a spec has it, in YAML or JSON; - reads standard input. Beside needs they
may have before: existing tasks, not yet started, that shall wait for them.

Examples:
  roundsman dag add-tasks rolling-maintenance extra.yaml
  echo '[{"id": "snapshot", "before": ["rack-b"], "command": ["snapshot"]}]' | roundsman dag add-tasks rolling-maintenance -`,
		Flags: ui.With(),
		Action: func(ctx *cli.Context) error {
			name := ctx.Args().Get(1)
			tasks, err := c.ReadSpec(name)
			if err != nil {
				return err
			}
			if name == ui.StdinName {
				name = ui.StdinFile
			}
			if err := spec.CheckAdded(name, tasks); err != nil {
				return ui.Faulty(err)
			}
			return c.onRun(func(ctx *cli.Context, client *starter.Client, ref starter.RunRef) error {
				changed, err := client.DAGs().AddTasks(ctx.Context, ref, name, tasks, c.Operator())
				if err != nil {
					return err
				}
				return c.changed(ctx, ref, changed, "added %s", ui.Plural(len(changed.Tasks), "task"))
			})(ctx)
		},
	}
}

func (c *commands) dagPause() *cli.Command {
	return &cli.Command{
		Name: "pause", ArgsUsage: "RUN", Usage: "start no more tasks; what runs goes on, and so does the deadline",
		Description: dagRunArgument + `

Examples:
  roundsman dag pause rolling-maintenance --note "waiting for the network team"`,
		Flags: ui.With(ui.NoteFlag()),
		Action: c.onRun(func(ctx *cli.Context, client *starter.Client, ref starter.RunRef) error {
			if err := client.DAGs().Pause(ctx.Context, ref, ctx.String(ui.FlagNote)); err != nil {
				return err
			}
			return c.Done(ctx, map[string]any{"workflow_id": ref.WorkflowID, "requested": "pause"},
				"pause requested: %s (go on with `roundsman runs resume %s`)", ref.WorkflowID, ref.WorkflowID)
		}),
	}
}

func (c *commands) dagResume() *cli.Command {
	return &cli.Command{
		Name: "resume", ArgsUsage: "RUN", Usage: "end a pause",
		Description: dagRunArgument + `

A run that has failed is not paused: see ` + "`roundsman dag retry`" + `.

Examples:
  roundsman dag resume rolling-maintenance`,
		Flags: ui.With(),
		Action: c.onRun(func(ctx *cli.Context, client *starter.Client, ref starter.RunRef) error {
			if err := client.DAGs().Resume(ctx.Context, ref); err != nil {
				return err
			}
			return c.Done(ctx, map[string]any{"workflow_id": ref.WorkflowID, "requested": "resume"}, "resume requested: %s", ref.WorkflowID)
		}),
	}
}

func (c *commands) dagRelease() *cli.Command {
	return &cli.Command{
		Name: "release", ArgsUsage: "RUN", Usage: "let a run end that is held after a failure (hold_on_failure)",
		Description: dagRunArgument + `

Examples:
  roundsman dag release nightly`,
		Flags: ui.With(),
		Action: c.onRun(func(ctx *cli.Context, client *starter.Client, ref starter.RunRef) error {
			changed, err := client.DAGs().Release(ctx.Context, ref, c.Operator())
			if err != nil {
				return err
			}
			return c.changed(ctx, ref, changed, "released")
		}),
	}
}

func (c *commands) dagSet() *cli.Command {
	return &cli.Command{
		Name: "set", ArgsUsage: "RUN", Usage: "change a run that goes on",
		Description: dagRunArgument + `

Examples:
  roundsman dag set nightly --concurrency 4`,
		Flags: ui.With(&cli.IntFlag{Name: "concurrency", Usage: "keep at most `N` tasks in flight; what runs goes on"}),
		Before: func(ctx *cli.Context) error {
			if n := ctx.Int("concurrency"); !ctx.IsSet("concurrency") || n < 1 || n > spec.MaxConcurrency {
				return ui.Usagef("--concurrency %d: give a number from 1 to %d", n, spec.MaxConcurrency)
			}
			return nil
		},
		Action: c.onRun(func(ctx *cli.Context, client *starter.Client, ref starter.RunRef) error {
			changed, err := client.DAGs().SetConcurrency(ctx.Context, ref, ctx.Int("concurrency"))
			if err != nil {
				return err
			}
			return c.changed(ctx, ref, changed, "concurrency is %d", ctx.Int("concurrency"))
		}),
	}
}
