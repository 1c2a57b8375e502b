package jobtypes

import (
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/override"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// Set changes settings of a job type until the next apply, for the runs that start from now on.
func Set(p *ui.Program, ctx *cli.Context, client *starter.Client, name string, settings []string) error {
	change, err := override.Parse(settings)
	if err != nil {
		return ui.Faulty(err)
	}
	changed, err := jobtypes.Of(client).Set(ctx.Context, name, change)
	if err != nil {
		return err
	}
	if len(changed) > 0 && !ui.WantsData(ctx) {
		p.Complain("to put it back: roundsman set %s --restore last", name)
	}
	return p.SettingsChanged(ctx, map[string]any{"job_type": name}, name, changed)
}

// Restore puts back the settings that a job type had before an entry of the audit log, or before its last change. A deleted
// job type is made again.
func Restore(p *ui.Program, ctx *cli.Context, client *starter.Client, name, written string) error {
	entry := int64(0)
	if written != "last" {
		var err error
		if entry, err = strconv.ParseInt(written, 10, 64); err != nil || entry < 1 {
			return ui.Usagef("--restore %s: give the seq of an entry of the audit log, or last", written)
		}
	}
	change, err := jobtypes.Of(client).Restore(ctx.Context, name, entry)
	if err != nil {
		return err
	}
	if change.Action == jobtypes.ActionUnchanged {
		return p.Done(ctx, change, "%s: it is so already", name)
	}
	lines := "restored " + name
	for _, field := range change.Fields {
		field.Drift = false // An overwritten setting is not a fault here.
		lines += "\n    " + field.String()
	}
	return p.Done(ctx, change, "%s", lines)
}
