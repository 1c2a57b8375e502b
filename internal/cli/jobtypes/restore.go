package jobtypes

import (
	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

func (c *commands) jobTypesRestore() *cli.Command {
	return &cli.Command{
		Name: "restore", ArgsUsage: "NAME", Usage: "put back the settings that a job type had before a change",
		Description: `The audit log keeps the settings of a job type before each apply and each jobtypes set, as long as they fit: of
audit list --output json the entries that have "restorable": true. A deleted job type is made again.
The next run has the settings. The next apply sets what the configuration says: to keep them, write them there.

Examples:
  roundsman set scrub --restore last
  roundsman audit jobtype/scrub --output json | jq '.[] | select(.restorable) | .seq'
  roundsman set scrub --restore 4711`,
		Flags: ui.With(&cli.Int64Flag{Name: "entry", Usage: "restore the settings before entry `SEQ` of the audit log (default: the last change)"}),
		Action: c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			name, err := ui.OneName(ctx)
			if err != nil {
				return err
			}
			if ctx.Int64("entry") < 0 || ctx.IsSet("entry") && ctx.Int64("entry") == 0 {
				return ui.Usagef("--entry %d: give the seq of an entry of the audit log, or leave it out", ctx.Int64("entry"))
			}
			change, err := jobtypes.Of(client).Restore(ctx.Context, name, ctx.Int64("entry"))
			if err != nil {
				return err
			}
			if change.Action == jobtypes.ActionUnchanged {
				return c.Done(ctx, change, "%s: it is so already", name)
			}
			lines := "restored " + name
			for _, field := range change.Fields {
				field.Drift = false // An overwritten setting is not a fault here.
				lines += "\n    " + field.String()
			}
			return c.Done(ctx, change, "%s", lines)
		}),
	}
}
