package runs

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/setting"
	"github.com/roundsman/roundsman/starter"
)

func (c *commands) runsPause() *cli.Command {
	return &cli.Command{
		Name: "pause", ArgsUsage: "RUN", Usage: "start no more jobs until resume; what runs goes on",
		Description: runArgument + `

Paused time does not count against max_runtime, but against the deadline of a DAG. Pausing what is paused replaces the note. To keep a job
type from being due at all: roundsman jobtypes pause.

Examples:
  roundsman runs pause scrub --note "backup is running"
  roundsman runs pause rolling-maintenance`,
		Flags: ui.With(&cli.StringFlag{Name: ui.FlagNote, Usage: "`TEXT` that tells others why"}),
		Action: c.onGroup(func(ctx *cli.Context, client *starter.Client, ref starter.RunRef) error {
			if err := client.Runs().Pause(ctx.Context, ref, ctx.String(ui.FlagNote)); err != nil {
				return err
			}
			return c.Done(ctx, map[string]any{"workflow_id": ref.WorkflowID, "requested": "pause"}, "pause requested: %s (resume it with `roundsman runs resume %s`)", ref.WorkflowID, ref.WorkflowID)
		}),
	}
}

func (c *commands) runsResume() *cli.Command {
	return &cli.Command{
		Name: "resume", ArgsUsage: "RUN", Usage: "end a pause of a run",
		Description: runArgument + `

Examples:
  roundsman runs resume scrub`,
		Flags: ui.With(),
		Action: c.onGroup(func(ctx *cli.Context, client *starter.Client, ref starter.RunRef) error {
			if err := client.Runs().Resume(ctx.Context, ref); err != nil {
				return err
			}
			return c.Done(ctx, map[string]any{"workflow_id": ref.WorkflowID, "requested": "resume"}, "resume requested: %s", ref.WorkflowID)
		}),
	}
}

// SettingsArgument tells where the settings of a policy are described.
const SettingsArgument = "Settings are those of policy in the configuration, see docs/configuration.md#policy."

func (c *commands) runsSet() *cli.Command {
	return &cli.Command{
		Name: "set", ArgsUsage: "RUN SETTING=VALUE...", Usage: "change settings of a run that goes on, for this run only",
		Description: runArgument + `

` + SettingsArgument + `
They are in force at once: more jobs start, fewer follow those that run, a deadline moves. The run refuses
what is out of range, and nothing is changed then. Later runs are as configured: for those, and the next
ones, use roundsman jobtypes set, or the configuration and apply.

Examples:
  roundsman runs set scrub global_execution_concurrency=8 per_worker_execution_concurrency=4
  roundsman runs set scrub max_runtime=4h on_deadline=drain
  roundsman runs set rolling-maintenance concurrency=4
  roundsman runs set scrub retry_limit=5 --output json | jq .changed`,
		Flags:  ui.With(),
		Before: CheckSettings,
		Action: c.onGroup(func(ctx *cli.Context, client *starter.Client, ref starter.RunRef) error {
			change, err := setting.Parse(ctx.Args().Tail())
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

// CheckSettings judges the settings of a command line without a server.
func CheckSettings(ctx *cli.Context) error {
	_, err := setting.Parse(ctx.Args().Tail())
	if err != nil {
		return ui.Faulty(err)
	}
	return nil
}

// onGroup runs an action on the open run that the first argument names.
func (c *commands) onGroup(action func(*cli.Context, *starter.Client, starter.RunRef) error) cli.ActionFunc {
	return c.Connected(func(ctx *cli.Context, client *starter.Client) error {
		ref, err := client.Runs().Resolve(ctx.Context, ctx.Args().First())
		if err != nil {
			return err
		}
		err = action(ctx, client, ref)
		if errors.Is(err, starter.ErrAlreadyEnded) {
			return fmt.Errorf("%w (see `roundsman runs show %s`)", err, ref.WorkflowID)
		}
		return err
	})
}
