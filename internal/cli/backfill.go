package cli

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/starter"
)

func (c *commands) jobTypesBackfill() *cli.Command {
	return &cli.Command{
		Name: "backfill", ArgsUsage: "NAME", Usage: "start the runs that were due in a span of time, one after the other",
		Description: `Examples:
  roundsman jobtypes backfill report --from 2026-11-01T00:00:00Z --to 2026-11-08T00:00:00Z
  roundsman jobtypes backfill report --from 48h`,
		Flags: with(
			&cli.StringFlag{Name: "from", Usage: "from `TIME` on (RFC 3339, or a duration before now)", Required: true},
			&cli.StringFlag{Name: "to", Usage: "until `TIME` (RFC 3339, or a duration before now; default: now)"},
		),
		Action: c.connected(func(ctx *cli.Context, client *starter.Client) error {
			name, err := oneName(ctx)
			if err != nil {
				return err
			}
			now := c.env.Now()
			from, fromErr := parseTime("--from", ctx.String("from"), now)
			to, toErr := parseTime("--to", cmp.Or(ctx.String("to"), "0s"), now)
			if err := errors.Join(fromErr, toErr); err != nil {
				return faulty(err)
			}
			ticks, err := client.Backfill(ctx.Context, name, from, to)
			if err != nil {
				return err
			}
			return c.done(ctx, map[string]any{"job_type": name, "runs": ticks}, "%s of %s will be started one after the other", plural(ticks, "run"), name)
		}),
	}
}

// parseTime reads RFC 3339 or a duration before now.
func parseTime(flag, written string, now time.Time) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, written); err == nil {
		return at, nil
	}
	if before, err := parseDuration(written); err == nil && before >= 0 {
		return now.Add(-before), nil
	}
	return time.Time{}, fmt.Errorf("%s %q: write it like 2026-11-20T09:00:00Z, or like 48h or 7d before now", flag, written)
}
