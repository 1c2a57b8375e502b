package jobtypes

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// Backfill starts the runs that were due in span, FROM..TO, one after the other. Without TO it ends now.
func Backfill(p *ui.Program, ctx *cli.Context, client *starter.Client, name, span string) error {
	now := p.Env.Now()
	since, until, _ := strings.Cut(span, "..")
	from, fromErr := ui.ParseTime("--backfill", since, now)
	to, toErr := ui.ParseTime("--backfill", cmp.Or(until, "now"), now)
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
		return p.Done(ctx, filled, "%s of %s would be started, from %s to %s", ui.Plural(filled.Runs, "run"), name,
			filled.Ticks[0].Format(time.RFC3339), filled.Ticks[filled.Runs-1].Format(time.RFC3339))
	}
	return p.Done(ctx, filled, "%s of %s will be started one after the other", ui.Plural(filled.Runs, "run"), name)
}
