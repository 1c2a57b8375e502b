package jobtypes

import (
	"cmp"
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

func (c *commands) jobTypesBackfill() *cli.Command {
	return &cli.Command{
		Name: "backfill", ArgsUsage: "NAME", Usage: "start the runs that were due in a span of time, one after the other",
		Description: `Examples:
  roundsman start report --backfill 2026-11-01T00:00:00Z..2026-11-08T00:00:00Z
  roundsman start report --backfill 48h.. --dry-run`,
		Flags: ui.With(
			&cli.StringFlag{Name: "from", Usage: "from `TIME` on (RFC 3339, or a duration before now)", Required: true},
			&cli.StringFlag{Name: "to", Usage: "until `TIME` (RFC 3339, or a duration before now; default: now)"},
			ui.DryRunFlag(),
		),
		Action: c.Named(func(ctx *cli.Context, client *starter.Client, name string) error {
			now := c.Env.Now()
			from, fromErr := ui.ParseTime("--from", ctx.String("from"), now)
			to, toErr := ui.ParseTime("--to", cmp.Or(ctx.String("to"), "0s"), now)
			if err := errors.Join(fromErr, toErr); err != nil {
				return ui.Faulty(err)
			}
			fill := jobtypes.Of(client).Backfill
			if ctx.Bool(ui.FlagDryRun) {
				fill = jobtypes.Of(client).PreviewBackfill
			}
			filled, err := fill(ctx.Context, name, from, to)
			if err != nil {
				return err
			}
			if filled.DryRun {
				return c.Done(ctx, filled, "%s of %s would be started, from %s to %s", ui.Plural(filled.Runs, "run"), name,
					filled.Ticks[0].Format(time.RFC3339), filled.Ticks[filled.Runs-1].Format(time.RFC3339))
			}
			return c.Done(ctx, filled, "%s of %s will be started one after the other", ui.Plural(filled.Runs, "run"), name)
		}),
	}
}
