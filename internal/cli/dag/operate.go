package dag

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/cli/progress"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

func (c *commands) eachTask(command cli.Command, done string, act func(*cli.Context, *starter.Client, starter.RunRef, string) (contract.DAGChanged, error)) *cli.Command {
	command.ArgsUsage = "RUN TASK..."
	command.Action = c.onRun(func(ctx *cli.Context, client *starter.Client, ref starter.RunRef) error {
		tasks := ctx.Args().Tail()
		top := ref
		changed, err := inTurn(tasks, done, func(task string) (contract.DAGChanged, error) {
			located, err := client.Runs().Locate(ctx.Context, starter.ItemRef{Run: top, ID: task})
			if err != nil {
				return contract.DAGChanged{}, err
			}
			ref = located.Run
			return act(ctx, client, ref, located.ID)
		})
		if err != nil {
			return err
		}
		changed.Tasks = tasks
		return c.changed(ctx, ref, changed, "%s %s", done, strings.Join(tasks, ", "))
	})
	return &command
}

// inTurn acts on several tasks. Its error lists the tasks done before it.
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

func (c *commands) changed(ctx *cli.Context, ref starter.RunRef, changed contract.DAGChanged, format string, args ...any) error {
	value := map[string]any{"workflow_id": ref.WorkflowID, "counts": changed.Counts, "tasks": ui.OrEmpty(changed.Tasks)}
	if len(changed.Redefined) > 0 {
		value["redefined"] = changed.Redefined
	}
	line := fmt.Sprintf(format, args...) + ": " + ref.WorkflowID
	if counts := progress.States(changed.Counts); counts != "" {
		line += " now has " + counts
	}
	return c.Done(ctx, value, "%s", line)
}

func (c *commands) dagSkip() *cli.Command {
	return c.eachTask(cli.Command{
		Name: "skip", Usage: "let tasks count as done without running them; the tasks that they blocked continue",
		Description: dagRunArgument + `

Tasks that have not started, failed or were blocked can be skipped.

Examples:
  roundsman skip nightly/report --reason "not needed today"
  roundsman skip dag/nightly/20261120T090000-1f2e3d/load.7 load.9`,
		Flags: ui.With(ui.ReasonFlag()),
	}, "skipped", func(ctx *cli.Context, client *starter.Client, ref starter.RunRef, task string) (contract.DAGChanged, error) {
		return client.DAGs().SkipTask(ctx.Context, ref, task, c.Operator(), ctx.String(ui.FlagReason))
	})
}

func (c *commands) dagApprove() *cli.Command {
	return c.decide("approve", "approved", "let tasks that wait for an approval continue", "window agreed with the owners", starter.DAGs.ApproveTask)
}

func (c *commands) dagReject() *cli.Command {
	return c.decide("reject", "rejected", "fail tasks that wait for an approval", "not before the backup", starter.DAGs.RejectTask)
}

func (c *commands) decide(name, done, usage, note string,
	answer func(d starter.DAGs, ctx context.Context, ref starter.RunRef, task, by, note string) (contract.DAGChanged, error),
) *cli.Command {
	return c.eachTask(cli.Command{
		Name: name, Usage: usage,
		Description: dagRunArgument + `

Examples:
  roundsman dag ` + name + ` rolling-maintenance go-ahead
  roundsman dag ` + name + ` rolling-maintenance go-ahead --note "` + note + `"`,
		Flags: ui.With(ui.NoteFlag()),
	}, done, func(ctx *cli.Context, client *starter.Client, ref starter.RunRef, task string) (contract.DAGChanged, error) {
		return answer(client.DAGs(), ctx.Context, ref, task, c.Operator(), ctx.String(ui.FlagNote))
	})
}

func (c *commands) dagAddTasks() *cli.Command {
	return &cli.Command{
		Name: "add-tasks", ArgsUsage: "RUN FILE", Usage: "add tasks to an open run, or redefine some that have not started",
		Description: dagRunArgument + `

FILE is a list of tasks as a spec has it, in YAML or JSON; - reads standard input. Beside needs they
may have before: existing tasks, not yet started, that shall wait for them. A task of the run that
has not started gets the new definition; one that is defined like that already is left alone.

Examples:
  roundsman set rolling-maintenance -f extra.yaml
  echo '[{"id": "snapshot", "before": ["rack-b"], "command": ["snapshot"]}]' | roundsman set rolling-maintenance -f -`,
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
				return c.changed(ctx, ref, changed, "%s", addedText(changed))
			})(ctx)
		},
	}
}

func addedText(changed contract.DAGChanged) string {
	added, redefined := ui.Plural(len(changed.Tasks), "task"), ui.Plural(len(changed.Redefined), "task")
	switch {
	case len(changed.Tasks)+len(changed.Redefined) == 0:
		return "changed nothing, the tasks are defined like that already"
	case len(changed.Redefined) == 0:
		return "added " + added
	case len(changed.Tasks) == 0:
		return "redefined " + redefined
	}
	return "added " + added + ", redefined " + redefined
}

func (c *commands) dagRelease() *cli.Command {
	return &cli.Command{
		Name: "release", ArgsUsage: "RUN", Usage: "let a run end that is held after a failure (hold_on_failure)",
		Description: dagRunArgument + `

Examples:
  roundsman resume nightly`,
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
