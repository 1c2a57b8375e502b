package verbs

import (
	"errors"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/access"
	"github.com/roundsman/roundsman/internal/cli/target"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/starter"
)

func (c *commands) fleet() []*cli.Command {
	return []*cli.Command{c.workers(), c.drain(), c.resources(), c.remove(), c.jobtypes()}
}

func (c *commands) workers() *cli.Command {
	return &cli.Command{
		Name: "workers", Usage: "list workers, their state and free slots",
		Description: `Of several labels a worker has all; K!=V is each worker without that label.

Examples:
  roundsman workers
  roundsman workers -l role=storage,rack!=r7
  roundsman workers -s OFFLINE -o name
  roundsman workers --output json | jq -r '.workers[].registration.host'`,
		Flags: ui.ListFlags(
			ui.StateFlag(strings.Join(workerStates(), ", ")),
			&cli.StringSliceFlag{Name: "label", Aliases: []string{"l"}, Usage: "only with the labels `K=V,K!=V`"},
		),
		Action: func(ctx *cli.Context) error {
			line := to("workers list").uses(ui.FlagState).with(ctx, "label")
			wanted, err := ui.States(ctx, workerStates())
			if err != nil {
				return err
			}
			for _, state := range wanted {
				if state == string(contract.WorkerDeleted) {
					line = line.and("--deleted")
				}
				line = line.and("--only-state=" + state)
			}
			return c.forward(ctx, line)
		},
	}
}

func workerStates() []string {
	return []string{
		string(contract.WorkerOnline), string(contract.WorkerUnreachable), string(contract.WorkerOffline), string(contract.WorkerDraining),
		string(contract.WorkerCordoned), string(contract.WorkerDeleted),
	}
}

func (c *commands) drain() *cli.Command {
	return &cli.Command{
		Name: "drain", ArgsUsage: "WORKER", Usage: "pause a worker and wait until it is idle",
		Description: `It takes no new work; running jobs may finish. Ctrl-C ends the waiting, the worker stays paused. --dry-run reports
whether and when its node may be rebooted.

Examples:
  roundsman drain node-a --dry-run
  roundsman drain node-a -r kernel --timeout 1h
  roundsman resume node-a`,
		Flags: ui.With(&cli.DurationFlag{Name: ui.FlagTimeout, Usage: "stop waiting after `DURATION`, with exit code 1"}, ui.ReasonFlag(), ui.DryRunFlag()),
		Action: c.on(target.Accepts{Named: []ref.Kind{ref.Worker}}, func(ctx *cli.Context, _ *starter.Client, t target.Target) (old, error) {
			return to("workers drain", t.Name).with(ctx, ui.FlagTimeout, ui.FlagReason, ui.FlagDryRun), nil
		}),
	}
}

func (c *commands) resources() *cli.Command {
	return &cli.Command{
		Name: "resources", ArgsUsage: "[REF]", Usage: "list lanes, pools, objects: holders and waiters",
		Description: `A resource that nothing holds or waits for is not listed. --past lists who held it before, and how long that was waited for.

Examples:
  roundsman resources
  roundsman resources pool/db
  roundsman resources lane/disks --past`,
		Flags: ui.ListFlags(&cli.BoolFlag{Name: "past", Usage: "list the holders before"}),
		Action: func(ctx *cli.Context) error {
			line, text := to("locks list").uses("past"), ctx.Args().First()
			if ctx.Bool("past") {
				line.path = "locks past"
			}
			if text == "" {
				return c.forward(ctx, line)
			}
			parsed, err := ref.Parse(text)
			switch {
			case err != nil || parsed.Kind != ref.Lane && parsed.Kind != ref.Pool && parsed.Kind != ref.Object:
				return ui.Usagef("%s is no resource: write lane/NAME, pool/NAME or object/NAME", text)
			case ctx.Bool("past"):
				return c.forward(ctx, line.and("--"+string(parsed.Kind)+"="+parsed.Name))
			}
			return c.forward(ctx, line.and("--only="+text))
		},
	}
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
			e := c.effect(ctx, to("workers remove", t.Name).with(ctx, ui.FlagReason).uses(ui.FlagYes))
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
