package runs

import (
	"encoding/json"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/override"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/refs"
)

// DAGAliases are former names of the commands for runs. They stay below `dag`, hidden.
func DAGAliases(p *ui.Program) []*cli.Command {
	c := &commands{p}
	show := c.runsShow()
	show.Before, show.Action = checkItems(starter.TaskStates()), c.onRun(refs.Resolver.DAG, c.showRun)
	cancel := c.runsCancel()
	cancel.Action = c.onRun(refs.Resolver.DAG, c.cancelRun)
	aliases := []*cli.Command{c.listDAGs(), show, c.runsWatch(), cancel, c.runsPause(), c.runsResume(), c.setConcurrency()}
	for _, alias := range aliases {
		alias.Hidden = true
	}
	return aliases
}

func (c *commands) listDAGs() *cli.Command {
	list := c.runsList()
	list.ArgsUsage = "[DAG]"
	filterOf := func(ctx *cli.Context) (starter.RunFilter, error) {
		filter, err := c.runFilter(ctx)
		filter.Kind, filter.DAG = starter.KindDAG, ctx.Args().First()
		if filter.DAG != "" && jobtype.ValidateName(filter.DAG) != nil {
			return filter, ui.Usagef("DAG %s: %w", filter.DAG, jobtype.ValidateName(filter.DAG))
		}
		return filter, err
	}
	list.Before = func(ctx *cli.Context) error {
		_, err := filterOf(ctx)
		return err
	}
	list.Action = c.Connected(func(ctx *cli.Context, client *starter.Client) error {
		filter, err := filterOf(ctx)
		if err != nil {
			return err
		}
		return c.printRuns(ctx, client, filter)
	})
	return list
}

const flagConcurrency = "concurrency"

func (c *commands) setConcurrency() *cli.Command {
	return &cli.Command{
		Name: "set", ArgsUsage: "RUN", Usage: "change an open run",
		Flags: ui.With(&cli.IntFlag{Name: flagConcurrency, Usage: "keep at most `N` tasks in flight; running tasks continue"}),
		Before: func(ctx *cli.Context) error {
			if n := ctx.Int(flagConcurrency); !ctx.IsSet(flagConcurrency) || n < 1 || n > spec.MaxConcurrency {
				return ui.Usagef("--concurrency %d: give a number from 1 to %d", n, spec.MaxConcurrency)
			}
			return nil
		},
		Action: c.onRun(refs.Resolver.DAG, func(ctx *cli.Context, client *starter.Client, ref starter.RunRef) error {
			n := strconv.Itoa(ctx.Int(flagConcurrency))
			changed, err := client.Runs().Set(ctx.Context, ref, override.Change{override.Concurrency: json.RawMessage(n)})
			if err != nil {
				return err
			}
			return c.SettingsChanged(ctx, map[string]any{"workflow_id": ref.WorkflowID}, ref.WorkflowID, changed)
		}),
	}
}
