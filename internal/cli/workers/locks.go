package workers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// defaultPast is the default number of releases in a table.
const (
	defaultPast = 50
	mostNames   = 500 // of a kind, in one view of admission
	flagOnly    = "only"
)

func (c *commands) locksCommand() *cli.Command {
	return &cli.Command{
		Name: "locks", Usage: "who holds lanes, pools and objects, and who held them before",
		Subcommands: []*cli.Command{c.locksList(), c.locksPast()},
	}
}

func (c *commands) locksList() *cli.Command {
	return &cli.Command{
		Name: "list", Aliases: []string{"ls"}, Usage: "list who holds lanes, pools and objects, and how many wait",
		Description: `Unused ones are not listed. --output json has lanes, pools and objects by
themselves, all of them and in their own order.

Examples:
  roundsman resources
  roundsman resources --sort -waiting,since --limit 10
  roundsman resources --output json | jq '.lanes[] | {name, held_by: .holder.workflow_id}'`,
		Flags: ui.ListFlags(lockSorting().Flags(&cli.StringFlag{Name: flagOnly, Usage: "only `KIND/NAME`, like pool/db"})...),
		Action: c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			only := ctx.String(flagOnly)
			view, err := pageWith(ctx.Context, client.Admission().View, only)
			if err != nil {
				return err
			}
			if only == "" {
				c.notListed(view.LaneCount + view.PoolCount + view.ObjectCount - len(view.Lanes) - len(view.Pools) - len(view.Objects))
			} else {
				view.Lanes = slices.DeleteFunc(view.Lanes, func(l contract.AdmissionLane) bool { return "lane/"+l.Name != only })
				view.Pools = slices.DeleteFunc(view.Pools, func(p contract.AdmissionPool) bool { return "pool/"+p.Name != only })
				view.Objects = slices.DeleteFunc(view.Objects, func(o contract.AdmissionThing) bool { return "object/"+o.Name != only })
				if len(view.Lanes)+len(view.Pools)+len(view.Objects) == 0 {
					if err := declared(ctx, client, only); err != nil {
						return err
					}
				}
			}
			if ui.WantsData(ctx) {
				return c.Answer(ctx, map[string]any{"lanes": ui.OrEmpty(view.Lanes), "pools": ui.OrEmpty(view.Pools), "objects": ui.OrEmpty(view.Objects)})
			}
			all := locksOf(view)
			shown, listed := lockSorting().Arrange(ctx, all), ui.NewTable("KIND", "NAME", "IN USE", "WAITING", "SINCE", "HELD BY")
			for _, l := range shown {
				listed.Add(ui.Text(l.kind), ui.Textf("%s", l.name), l.inUse, ui.Textf("%d", l.waiting), ui.Text(ui.Ago(l.since(), c.Env.Now())), ui.Textf("%s", usedBy(l.holders)))
			}
			c.PrintTable(listed, "no lane, pool or object is held or waited for")
			c.More(len(shown), len(all))
			return nil
		}),
	}
}

// pageWith is the page of admission with the place of KIND/NAME in its order. Without a name it is the first one.
func pageWith(ctx context.Context, read func(context.Context, contract.AdmissionFilter) (contract.AdmissionView, error), only string) (contract.AdmissionView, error) {
	kind, name, _ := strings.Cut(only, "/")
	for filter := (contract.AdmissionFilter{Limit: mostNames, After: before(name)}); ; {
		view, err := read(ctx, filter)
		if err != nil || only == "" {
			return view, err
		}
		ofKind := slices.DeleteFunc(locksOf(view), func(l lock) bool { return l.kind != kind })
		if len(ofKind) < mostNames || ofKind[len(ofKind)-1].name >= name {
			return view, nil
		}
		filter.After = ofKind[len(ofKind)-1].name
	}
}

// before returns a text that sorts before name, with few names in between.
func before(name string) string {
	last, size := utf8.DecodeLastRuneInString(name)
	prefix := name[:len(name)-size]
	if near := prefix + string(last-1) + string(utf8.MaxRune); near < name {
		return near
	}
	return prefix
}

// declared returns an error for an unused lane or pool that no job type names. An object exists only while it is used.
func declared(ctx *cli.Context, client *starter.Client, only string) error {
	kind, name, _ := strings.Cut(only, "/")
	if kind == "object" {
		return nil
	}
	types, err := jobtypes.Of(client).List(ctx.Context)
	for _, known := range types {
		if _, pool := known.Spec.Resources[name]; kind == "pool" && pool || kind == "lane" && known.Spec.Lane == name {
			return nil
		}
	}
	if err != nil {
		return err
	}
	return &starter.NotFoundError{What: kind, Name: name, Hint: "no job type names it, and nothing holds or waits for it (`roundsman resources`)"}
}

// notListed reports the number of names that do not fit into one answer of admission.
func (c *commands) notListed(names int) {
	if names > 0 {
		c.Complain("note: %d more names are not listed; the API pages them: GET /lanes, /pools, /objects", names)
	}
}

type lock struct {
	kind, name string
	waiting    int
	holders    []contract.AdmissionUse
	inUse      ui.Cell
}

// since is the time of the oldest grant, zero without one.
func (l lock) since() time.Time {
	if len(l.holders) == 0 {
		return time.Time{}
	}
	return l.holders[0].Since
}

func locksOf(view contract.AdmissionView) (all []lock) {
	for _, lane := range view.Lanes {
		var holders []contract.AdmissionUse
		if lane.Holder != nil {
			holders = append(holders, *lane.Holder)
		}
		all = append(all, lock{"lane", lane.Name, lane.WaitingCount, holders, ui.Text("")})
	}
	for _, pool := range view.Pools {
		all = append(all, lock{"pool", pool.Name, pool.WaitingCount, pool.Holders, poolUse(pool)})
	}
	for _, object := range view.Objects {
		all = append(all, lock{"object", object.Name, object.WaitingCount, object.Holders, ui.Text("")})
	}
	return all
}

func lockSorting() ui.Sorting[lock] {
	return ui.Sorting[lock]{
		ui.By("kind", func(l lock) string { return l.kind }),
		ui.By("name", func(l lock) string { return l.name }),
		ui.By("waiting", func(l lock) int { return l.waiting }),
		ui.ByTime("since", lock.since),
	}
}

func (c *commands) locksPast() *cli.Command {
	return &cli.Command{
		Name: "past", Usage: "list who held lanes, pools and objects before, for how long, and how long that was waited for",
		Description: `The last release comes first. Admission remembers the newest few hundred turns in lanes, and as many uses of pools
and objects. Jobs without a lane, a pool or an object are not in it.

Examples:
  roundsman resources --past --lane disks
  roundsman resources --past --object volume/17
  roundsman resources --past --pool db --limit 200 --output json | jq '.grants[] | {workflow_id, granted_at, released_at}'`,
		Flags: ui.ListFlags(
			&cli.StringFlag{Name: "lane", Usage: "only turns in lane `NAME`"},
			&cli.StringFlag{Name: "pool", Usage: "only with pool `NAME`"},
			&cli.StringFlag{Name: "object", Usage: "only with object `NAME`"},
			&cli.StringFlag{Name: "run", Usage: "only grants of run `ID`"},
			&cli.IntFlag{Name: ui.FlagLimit, Usage: "show the last `N` releases, at most 1,000", Value: defaultPast},
			pastSorting().Flag(),
		),
		Before: func(ctx *cli.Context) error {
			if limit := ctx.Int(ui.FlagLimit); limit < 1 || limit > 1000 {
				return ui.Usagef("--limit %d: give 1 to 1,000", limit)
			}
			return nil
		},
		Action: c.Connected(func(ctx *cli.Context, client *starter.Client) error {
			past, err := client.Admission().PastGrants(ctx.Context, contract.PastGrantsFilter{
				Lane: ctx.String("lane"), Pool: ctx.String("pool"), Object: ctx.String("object"), WorkflowID: ctx.String("run"), Limit: ctx.Int(ui.FlagLimit),
			})
			if err != nil {
				return err
			}
			pastSorting().Sort(ctx, past.Grants)
			if ui.WantsData(ctx) {
				past.Grants = ui.OrEmpty(past.Grants)
				return c.Answer(ctx, past, ui.Names(past.Grants, func(g contract.PastGrant) string { return g.WorkflowID })...)
			}
			listed := ui.NewTable("RELEASED", "HELD", "WAITED", "WHAT", "BY", "+FOR")
			for _, g := range past.Grants {
				listed.Add(ui.Text(ui.Ago(g.ReleasedAt, c.Env.Now())), ui.Text(ui.Span(g.ReleasedAt.Sub(g.GrantedAt))), ui.Text(ui.Span(g.GrantedAt.Sub(g.RequestedAt))),
					ui.Textf("%s", things(g)), ui.Textf("%s", g.WorkflowID), ui.Textf("%s", g.For))
			}
			c.PrintTable(listed, "nothing that matches was released, as far as admission remembers")
			return nil
		}),
	}
}

func pastSorting() ui.Sorting[contract.PastGrant] {
	type grant = contract.PastGrant
	return ui.Sorting[grant]{
		ui.ByTime("released", func(g grant) time.Time { return g.ReleasedAt }),
		ui.By("held", func(g grant) time.Duration { return g.ReleasedAt.Sub(g.GrantedAt) }),
		ui.By("waited", func(g grant) time.Duration { return g.GrantedAt.Sub(g.RequestedAt) }),
		ui.By("what", things),
		ui.By("by", func(g grant) string { return g.WorkflowID }),
	}
}

func things(g contract.PastGrant) string {
	var all []string
	if g.Lane != "" {
		all = append(all, "lane "+g.Lane)
	}
	for _, amount := range g.Pools {
		text := "pool " + amount.Pool
		if amount.N > 1 {
			text += fmt.Sprintf(" ×%d", amount.N)
		}
		all = append(all, text)
	}
	for _, object := range g.Objects {
		text := "object " + object.Name
		if object.Shared {
			text += " (shared)"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}
