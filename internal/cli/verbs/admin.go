package verbs

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/target"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/starter"
)

func (c *commands) admin() []*cli.Command {
	return []*cli.Command{c.audit(), c.receivers(), c.keys()}
}

func (c *commands) audit() *cli.Command {
	return &cli.Command{
		Name: "audit", ArgsUsage: "[REF]", Usage: "list changes by people, and refusals",
		Description: `REF is a job type, a run or a thing by kind. Decisions of one run are added up by their code: ×4 is four of them.

Examples:
  roundsman audit --since 2h
  roundsman audit scrub
  roundsman audit worker/node-a --limit 20
  roundsman audit --actor ann --output json | jq -r '.[] | "\(.at) \(.action) \(.object)"'`,
		Flags: lists(some(
			&cli.StringFlag{Name: "actor", Usage: "only the changes of `ACTOR`"},
			&cli.IntFlag{Name: ui.FlagLimit, Usage: "the newest `N` rows; 0: all"},
			&cli.BoolFlag{Name: flagFollow, Aliases: []string{"f"}, Usage: "show new entries as they come"},
		), period()),
		Action: func(ctx *cli.Context) error {
			line := to("audit list").with(ctx, "actor", flagSince, flagUntil, flagFollow, ui.FlagLimit)
			if ctx.Args().Len() == 0 {
				return c.forward(ctx, line)
			}
			parsed, err := ref.Parse(ctx.Args().First())
			switch {
			case err == nil && parsed.Bare() && slices.Contains([]string{"admission", "audit", "fleet", "notifications"}, parsed.Name):
				return c.forward(ctx, line.and("--of="+parsed.Name))
			case err == nil && parsed.Kind == ref.JobType || err == nil && parsed.Bare():
				return c.forward(ctx, line.and("--job-type="+parsed.Name))
			case err == nil && parsed.Kind != "":
				return c.forward(ctx, line.and("--of="+parsed.Text))
			}
			return c.on(target.Accepts{Runs: true, Items: true}, func(_ *cli.Context, _ *starter.Client, t target.Target) (old, error) {
				if t.IsItem() {
					return line.and("--of=" + t.Item.String()), nil
				}
				return line.and("--of=" + t.Run.WorkflowID), nil
			})(ctx)
		},
	}
}

func (c *commands) receivers() *cli.Command {
	return &cli.Command{
		Name: "receivers", Usage: "list receivers of notifications, or test one",
		Description: `Receivers are those of the control plane's configuration. A notification is tried again with growing pauses for three days.

Examples:
  roundsman receivers
  roundsman receivers --test ops
  roundsman receivers --output json | jq '.receivers[] | select(.failing_since)'`,
		Flags: lists(some(&cli.StringFlag{Name: "test", Usage: "send a test to receiver `NAME`"})),
		Action: func(ctx *cli.Context) error {
			if name := ctx.String("test"); name != "" {
				return c.forward(ctx, to("notifications test", name).uses("test"))
			}
			return c.forward(ctx, to("notifications list"))
		},
	}
}

func (c *commands) keys() *cli.Command {
	return &cli.Command{
		Name: "keys", Usage: "list API keys",
		Description: `Examples:
  roundsman keys
  roundsman keys create ci --role viewer --expires 90d
  roundsman delete apikey/k-1f2e3d`,
		Flags:  lists(),
		Action: func(ctx *cli.Context) error { return c.forward(ctx, to("keys list")) },
	}
}
