package jobtypes

import (
	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/runs"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/override"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

func (c *commands) jobTypesSet() *cli.Command {
	return &cli.Command{
		Name: "set", ArgsUsage: "NAME SETTING=VALUE...", Usage: "change settings of a job type until the next apply",
		Description: runs.SettingsArgument + `
every=DURATION changes how often it is due. params.NAME=VALUE changes a setting of the handler, checked by
the schema that its workers registered; params.NAME=null removes it. Quote a text that reads as JSON: '"8080"'.
They hold for the runs that start from now on; a running group keeps what it has, see roundsman set.
plan shows them as changed by hand, and apply puts back what the configuration says: to keep them, write
them there.

Examples:
  roundsman set scrub max_runtime=4h
  roundsman set scrub every=30m
  roundsman set vacuum params.worker.garbage_threshold=0.4
  roundsman set scrub global_execution_concurrency=8 && roundsman set scrub@ global_execution_concurrency=8`,
		Flags:  ui.With(),
		Before: runs.CheckSettings,
		Action: c.Named(func(ctx *cli.Context, client *starter.Client, name string) error {
			change, err := override.Parse(ctx.Args().Tail())
			if err != nil {
				return ui.Faulty(err)
			}
			changed, err := jobtypes.Of(client).Set(ctx.Context, name, change)
			if err != nil {
				return err
			}
			if len(changed) > 0 && !ui.WantsData(ctx) {
				c.Complain("to put it back: roundsman set %s --restore last", name)
			}
			return c.SettingsChanged(ctx, map[string]any{"job_type": name}, name, changed)
		}),
	}
}
