package workers

import (
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

func (c *commands) poolsCommand() *cli.Command {
	return &cli.Command{
		Name: "pools", Usage: "list and resize the resource pools that are in use",
		Subcommands: []*cli.Command{c.poolsList(), c.poolsResize()},
	}
}

func (c *commands) poolsList() *cli.Command {
	return &cli.Command{
		Name: "list", Aliases: []string{"ls"}, Usage: "list the pools that jobs hold or wait for",
		Description: `A pool without a user and without a new size is not listed: its size is in the configuration.

Examples:
  roundsman resources
  roundsman resources --output json | jq '.pools[] | {name, used, size}'`,
		Flags: ui.ListFlags(poolSorting().Flags()...),
		Action: c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			view, err := client.Admission().View(ctx.Context, contract.AdmissionFilter{Limit: mostNames})
			if err != nil {
				return err
			}
			c.notListed(view.PoolCount - len(view.Pools))
			all := len(view.Pools)
			view.Pools = poolSorting().Arrange(ctx, view.Pools)
			if ui.WantsData(ctx) {
				return c.Answer(ctx, map[string]any{"pools": ui.OrEmpty(view.Pools)}, ui.Names(view.Pools, func(pool contract.AdmissionPool) string { return pool.Name })...)
			}
			listed := ui.NewTable("POOL", "USED", "SIZE", "WAITING", "HELD BY")
			for _, pool := range view.Pools {
				listed.Add(ui.Textf("%s", pool.Name), ui.Textf("%d", pool.Used), poolSize(pool), ui.Textf("%d", pool.WaitingCount), ui.Textf("%s", usedBy(pool.Holders)))
			}
			c.PrintTable(listed, "no job holds or waits for a pool")
			c.More(len(view.Pools), all)
			return nil
		}),
	}
}

func poolSorting() ui.Sorting[contract.AdmissionPool] {
	type pool = contract.AdmissionPool
	return ui.Sorting[pool]{
		ui.By("name", func(p pool) string { return p.Name }),
		ui.By("used", func(p pool) int { return p.Used }),
		ui.By("size", func(p pool) int { return p.Size }),
		ui.By("free", func(p pool) int { return p.Size - p.Used }),
		ui.By("waiting", func(p pool) int { return p.WaitingCount }),
	}
}

func poolSize(pool contract.AdmissionPool) ui.Cell {
	if pool.Operator > 0 {
		return ui.Cell{Text: strconv.Itoa(pool.Size) + " (resized)", Paint: ui.Odd}
	}
	return ui.Textf("%d", pool.Size)
}

func poolUse(pool contract.AdmissionPool) ui.Cell {
	use := poolSize(pool)
	use.Text = strconv.Itoa(pool.Used) + " of " + use.Text
	return use
}

func usedBy(holders []contract.AdmissionUse) string {
	var names []string
	for _, use := range holders {
		names = append(names, strings.TrimSuffix(use.WorkflowID+"/"+use.For, "/")) // A lane is held by a run.
	}
	return strings.Join(names, ", ")
}

func (c *commands) poolsResize() *cli.Command {
	return &cli.Command{
		Name: "resize", ArgsUsage: "POOL", Usage: "give a pool another size, at once and until it is resized again",
		Description: `Size 0 restores the size in the configuration. A run that waits for more than the new size will not get it:
those jobs fail with the reason.

Examples:
  roundsman set pool/db size=10
  roundsman set pool/db size=0`,
		Flags: ui.With(&cli.IntFlag{Name: "size", Usage: "the new size, `N`", Value: -1}),
		Before: func(ctx *cli.Context) error {
			if ctx.Int("size") < 0 {
				return ui.Usagef("--size is missing: give at least 1, or 0 to go back to the declared size")
			}
			return nil
		},
		Action: c.Named(func(ctx *cli.Context, client *starter.Client, pool string) error {
			after, err := client.Admission().ResizePool(ctx.Context, pool, ctx.Int("size"), c.Operator())
			if err != nil {
				return err
			}
			if after.Declared == 0 && after.Operator == 0 {
				return c.Done(ctx, after, "pool %s goes back to its declared size; no job holds or waits for it now", pool)
			}
			return c.Done(ctx, after, "pool %s has size %d, %d in use", pool, after.Size, after.Used)
		}),
	}
}
