package runs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/progress"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/override"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/refs"
)

func (c *commands) runsPause() *cli.Command {
	return &cli.Command{
		Name: "pause", ArgsUsage: "RUN", Usage: "start no more jobs until resume; running jobs continue",
		Description: runArgument + `

Paused time does not count against max_runtime, but against the deadline of a DAG. A repeated pause replaces the note. To keep a job
type from being due at all: roundsman pause.

Examples:
  roundsman pause scrub@ --reason "backup is running"
  roundsman pause rolling-maintenance@`,
		Flags: ui.With(&cli.StringFlag{Name: ui.FlagNote, Usage: "reason `TEXT` for others"}),
		Action: c.onRun(refs.Resolver.Run, func(ctx *cli.Context, client *starter.Client, ref starter.RunRef) error {
			if err := client.Runs().Pause(ctx.Context, ref, ctx.String(ui.FlagNote)); err != nil {
				return err
			}
			return c.requested(ctx, ref, "pause", "(resume it with `roundsman resume %s`)")
		}),
	}
}

func (c *commands) runsResume() *cli.Command {
	return &cli.Command{
		Name: "resume", ArgsUsage: "RUN", Usage: "end a pause of a run",
		Description: runArgument + `

Examples:
  roundsman resume scrub@`,
		Flags: ui.With(),
		Action: c.onRun(refs.Resolver.Run, func(ctx *cli.Context, client *starter.Client, ref starter.RunRef) error {
			if err := client.Runs().Resume(ctx.Context, ref); err != nil {
				return err
			}
			return c.requested(ctx, ref, "resume", "")
		}),
	}
}

// requested confirms that the server has taken a request; advice names the run with %s.
func (c *commands) requested(ctx *cli.Context, ref starter.RunRef, verb, advice string) error {
	line := verb + " requested: " + ref.WorkflowID
	if advice != "" {
		line += " " + fmt.Sprintf(advice, ref.WorkflowID)
	}
	return c.Done(ctx, map[string]any{"workflow_id": ref.WorkflowID, "requested": verb}, "%s", c.Env.Own.Text(line))
}

// SettingsArgument refers to the description of the settings of a policy.
const SettingsArgument = "Settings are those of policy in the configuration, see docs/configuration.md#policy."

func (c *commands) runsSet() *cli.Command {
	return &cli.Command{
		Name: "set", ArgsUsage: "RUN SETTING=VALUE...", Usage: "change settings of an open run, for this run only",
		Description: runArgument + `

` + SettingsArgument + `
A run of a DAG has concurrency, and concurrency.FANOUT for each of its fan-outs.
They are in force at once. The run refuses values out of range, and nothing is changed then.
Later runs are as configured: for those use roundsman set, or the configuration and apply.

Examples:
  roundsman set scrub@ global_execution_concurrency=8 per_worker_execution_concurrency=4
  roundsman set scrub@ max_runtime=4h on_deadline=drain
  roundsman set rolling-maintenance@ concurrency=4
  roundsman set rolling-maintenance@ concurrency.restart=2
  roundsman set scrub@ retry_limit=5 --output json | jq .changed`,
		Flags:  ui.With(),
		Before: CheckSettings,
		Action: c.onRun(refs.Resolver.Run, func(ctx *cli.Context, client *starter.Client, ref starter.RunRef) error {
			change, err := override.Parse(ctx.Args().Tail())
			if err != nil {
				return ui.Faulty(err)
			}
			changed, err := client.Runs().Set(ctx.Context, ref, change)
			if err != nil {
				return err
			}
			return c.SettingsChanged(ctx, map[string]any{"workflow_id": ref.WorkflowID}, ref.WorkflowID, changed)
		}),
	}
}

// CheckSettings checks the settings of a command line without a server.
func CheckSettings(ctx *cli.Context) error {
	if _, err := override.Parse(ctx.Args().Tail()); err != nil {
		return ui.Faulty(err)
	}
	return nil
}

func (c *commands) runsCancel() *cli.Command {
	return &cli.Command{
		Name: "cancel", ArgsUsage: "RUN", Usage: "cancel a run, or some of its jobs or tasks: running ones are stopped, the rest never starts",
		Description: runArgument + `

The same as the Web UI's cancel button and ` + "`temporal workflow cancel`" + `. Finished jobs stay finished.
Of a DAG, tasks with trigger_rule always still run, to clean up; a second cancel stops those too. With --task
only those are canceled; their dependants are blocked.

Examples:
  roundsman cancel scrub
  roundsman cancel scrub --reason "disk is being replaced" --wait
  roundsman runs cancel rolling-maintenance --task load.7 --task load.9`,
		Flags: ui.With(
			&cli.StringFlag{Name: ui.FlagReason, Usage: "`TEXT` to keep in the run's result"},
			&cli.StringSliceFlag{Name: ui.FlagTask, Usage: "cancel only `TASK`, or job; may be given several times"},
			&cli.BoolFlag{Name: ui.FlagWait, Usage: "wait until the run has ended"},
		),
		Before: func(ctx *cli.Context) error {
			if ctx.Bool(ui.FlagWait) && ctx.IsSet(ui.FlagTask) {
				return ui.Usagef("--wait waits for the end of a run and does not go with --task")
			}
			return nil
		},
		Action: c.onRun(refs.Resolver.Run, c.cancelRun),
	}
}

func (c *commands) cancelRun(ctx *cli.Context, client *starter.Client, ref starter.RunRef) error {
	if items := ctx.StringSlice(ui.FlagTask); len(items) > 0 {
		return c.cancelItems(ctx, client, ref, items)
	}
	if err := client.Runs().Cancel(ctx.Context, ref, ctx.String(ui.FlagReason)); err != nil {
		return err
	}
	if !ctx.Bool(ui.FlagWait) {
		return c.requested(ctx, ref, "cancel", "(follow it with `roundsman watch %s`)")
	}
	ended, err := client.Runs().Await(ctx.Context, ref)
	if err != nil {
		return err
	}
	return c.Done(ctx, map[string]any{"workflow_id": ref.WorkflowID, "requested": "cancel", "outcome": ended.Outcome},
		"cancel requested: %s has ended as %s with %s", ref.WorkflowID, ended.Outcome, progress.Counts(ended))
}

// cancelItems cancels one item after the other. Its error lists the items canceled before it.
func (c *commands) cancelItems(ctx *cli.Context, client *starter.Client, ref starter.RunRef, items []string) error {
	const done = "cancel requested for"
	for i, id := range items {
		if err := client.Runs().CancelItem(ctx.Context, starter.ItemRef{Run: ref, ID: id}, ctx.String(ui.FlagReason)); err != nil {
			if i > 0 {
				err = fmt.Errorf("%s %s, but then: %w", done, strings.Join(items[:i], ", "), err)
			}
			return err
		}
	}
	return c.Done(ctx, map[string]any{"workflow_id": ref.WorkflowID, "requested": "cancel", "items": items}, "%s %s: %s", done, strings.Join(items, ", "), ref.WorkflowID)
}

func (c *commands) onRun(resolve func(refs.Resolver, context.Context, string) (starter.RunRef, error), action func(*cli.Context, *starter.Client, starter.RunRef) error) cli.ActionFunc {
	return c.Connected(func(ctx *cli.Context, client *starter.Client) error {
		ref, err := resolve(refs.Of(client), ctx.Context, ctx.Args().First())
		if err != nil {
			return err
		}
		err = action(ctx, client, ref)
		if errors.Is(err, starter.ErrAlreadyEnded) {
			return fmt.Errorf("%w (see `roundsman show %s`)", err, ref.WorkflowID)
		}
		return err
	})
}
