package verbs

import (
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/access"
	"github.com/roundsman/roundsman/internal/cli/target"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/cli/workers"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/starter"
)

func (c *commands) remove() *cli.Command {
	return &cli.Command{
		Name: "delete", ArgsUsage: "REF...", Usage: "remove a worker or an API key",
		Description: `A worker that lives registers again. apikey/ID revokes a key. A job type is refused: remove it from the configuration, then
` + "`roundsman apply --prune`" + `.

Examples:
  roundsman delete node-a -r "sold"
  roundsman delete apikey/k-1f2e3d
  roundsman workers -s OFFLINE -o name | roundsman delete -y -`,
		Flags: ui.With(ui.ReasonFlag(), ui.YesFlag()),
		Action: target.On(c.Program, target.Accepts{Named: []ref.Kind{ref.Worker, ref.JobType, ref.APIKey}}, func(ctx *cli.Context, client *starter.Client, t target.Target) (target.Effect, error) {
			e := target.Effect{Of: t.Name, Flags: []string{ui.FlagYes, ui.FlagReason}, Do: func() error {
				return workers.Operate(c.Program, ctx, client, t.Name, starter.ActionRemove)
			}}
			switch t.Kind { //nolint:exhaustive // the others are not accepted
			case ref.JobType:
				return e, ui.Faulty(errors.New(t.Name + " is a job type: remove it from the configuration, then `roundsman apply --prune`"))
			case ref.APIKey:
				e = target.Effect{Of: t.Name, Flags: []string{ui.FlagYes}, Do: func() error { return access.Revoke(c.Program, ctx, client, t.Name) }}
			}
			return e, c.sure(ctx, "delete "+string(t.Kind)+" "+t.Name+"?")
		}),
	}
}
