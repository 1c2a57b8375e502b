package verbs

import (
	"errors"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/access"
	"github.com/roundsman/roundsman/internal/cli/target"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/cli/workers"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/starter"
)

func (c *commands) fleet() []*cli.Command {
	return []*cli.Command{c.remove(), c.jobtypes()}
}

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

func (c *commands) jobtypes() *cli.Command {
	return &cli.Command{
		Name: "jobtypes", Usage: "list job types: state, last run, next run",
		Description: `STATE is an outcome of the last run, or bad: failed, partial or timeout.

Examples:
  roundsman jobtypes
  roundsman jobtypes -s bad
  roundsman jobtypes --output json | jq -r '.job_types[] | select(.paused) | .name'`,
		Flags: ui.ListFlags(ui.StateFlag("bad or the outcome of the last run")),
		Action: func(ctx *cli.Context) error {
			line := to("jobtypes list").uses(ui.FlagState)
			wanted, err := ui.Outcomes(ctx, ui.StateBad)
			if err != nil {
				return err
			}
			if len(wanted) > 0 {
				line = line.and("--outcome=" + strings.Join(wanted, ","))
			}
			return c.forward(ctx, line)
		},
	}
}
