package inspect

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/holds"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

func (c *commands) holdsCommand() *cli.Command {
	return &cli.Command{
		Name: "holds", ArgsUsage: "[TYPE]", Usage: "list stopped work: by whom, why, until when",
		Description: `Work is stopped by a pause of a job type, run or worker, by the retry budget, by a mark as done, or because a run is kept open
after a failure. ` + "`roundsman resume REF`" + ` lifts a hold. One without an end lasts until then. -o name prints one REF per line,
each once.

Examples:
  roundsman holds
  roundsman holds scrub --output json | jq -r '.holds[] | [.kind, .ref, .until, .why] | @tsv'
  roundsman holds scrub -o name | roundsman resume -`,
		Flags: ui.ListFlags(),
		Action: c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			name := strings.TrimPrefix(ctx.Args().First(), string(ref.JobType)+"/")
			listed, err := holds.List(ctx.Context, client, name)
			if down, is := errors.AsType[*starter.ControlPlaneDownError](err); is {
				err = down // Each part of the list lacks the same control plane.
			}
			if err == nil && len(listed) == 0 && name != "" { // A deleted job type may have left marks.
				_, err = jobtypes.Of(client).Get(ctx.Context, name)
			}
			if err != nil && len(listed) == 0 {
				return err
			}
			c.Note(err)
			if ui.WantsData(ctx) {
				return c.Answer(ctx, map[string]any{"holds": lists.OrEmpty(listed)}, held(listed)...)
			}
			c.PrintTable(holdsTable(listed, c.Env.Now()), "nothing is held back")
			return nil
		}),
	}
}

func held(listed []holds.Hold) (refs []string) {
	for _, hold := range listed {
		if !slices.Contains(refs, hold.Ref) {
			refs = append(refs, hold.Ref)
		}
	}
	return refs
}

func holdsTable(listed []holds.Hold, now time.Time) *ui.Table {
	table := ui.NewTable("HELD", "KIND", "BY", "SINCE", "UNTIL", "WHY")
	for _, h := range listed {
		until := ""
		if !h.Until.IsZero() {
			until = ui.Stamp(h.Until) + " (" + ui.Ago(h.Until, now) + ")"
		}
		table.Add(ui.Text(h.Ref), ui.Cell{Text: string(h.Kind), Paint: ui.Odd}, ui.Text(h.By), ui.Text(ui.Ago(h.Since, now)), ui.Text(until), ui.Cause(h.Why))
	}
	return table
}
