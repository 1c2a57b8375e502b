package jobtypes

import (
	"cmp"
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

func (c *commands) jobTypesBackfill() *cli.Command {
	return &cli.Command{
		Name: "backfill", ArgsUsage: "NAME", Usage: "start the runs that were due in a span of time, one after the other",
		Description: `Examples:
  roundsman jobtypes backfill report --from 2026-11-01T00:00:00Z --to 2026-11-08T00:00:00Z
  roundsman jobtypes backfill report --from 48h`,
		Flags: ui.With(
			&cli.StringFlag{Name: "from", Usage: "from `TIME` on (RFC 3339, or a duration before now)", Required: true},
			&cli.StringFlag{Name: "to", Usage: "until `TIME` (RFC 3339, or a duration before now; default: now)"},
		),
		Action: c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			name, err := ui.OneName(ctx)
			if err != nil {
				return err
			}
			now := c.Env.Now()
			from, fromErr := ui.ParseTime("--from", ctx.String("from"), now)
			to, toErr := ui.ParseTime("--to", cmp.Or(ctx.String("to"), "0s"), now)
			if err := errors.Join(fromErr, toErr); err != nil {
				return ui.Faulty(err)
			}
			ticks, err := client.JobTypes().Backfill(ctx.Context, name, from, to)
			if err != nil {
				return err
			}
			return c.Done(ctx, map[string]any{"job_type": name, "runs": ticks}, "%s of %s will be started one after the other", ui.Plural(ticks, "run"), name)
		}),
	}
}
