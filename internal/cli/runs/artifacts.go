package runs

import (
	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/rlimit"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/joblogs"
)

func (c *commands) artifacts(ctx *cli.Context, client *starter.Client, ref starter.ItemRef) error {
	list, err := joblogs.ListArtifacts(ctx.Context, client, ref, ctx.Int(flagAttempt))
	if err != nil {
		return err
	}
	if ctx.IsSet(flagArtifact) {
		one, err := list.Find(ctx.String(flagArtifact))
		if err != nil {
			return err
		}
		return list.Write(ctx.Context, client, one, c.Env.Stdout)
	}
	if ui.WantsData(ctx) {
		return c.Answer(ctx, list)
	}
	listed := ui.NewTable("NAME", "SIZE", "NOT KEPT")
	for _, one := range list.Artifacts {
		listed.Add(ui.Text(one.Name), ui.Text(rlimit.Size(one.Size).String()), ui.Text(one.Error))
	}
	c.PrintTable(listed, list.Note)
	return nil
}
