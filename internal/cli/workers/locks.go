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
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

const (
	mostPast  = 50  // releases in a table
	mostNames = 500 // of a kind, in one view of admission
	flagPast  = "past"
)

func (c *commands) resources() *cli.Command {
	return &cli.Command{
		Name: "resources", ArgsUsage: "[REF]", Usage: "list lanes, pools, objects: holders and waiters",
		Description: `A resource that nothing holds or waits for is not listed. --past lists who held it before, and how long that was waited for.

Examples:
  roundsman resources
  roundsman resources pool/db
  roundsman resources lane/disks --past`,
		Flags: ui.ListFlags(&cli.BoolFlag{Name: flagPast, Usage: "list the holders before"}),
		Action: func(ctx *cli.Context) error {
			text := ctx.Args().First()
			parsed, err := ref.Parse(text)
			if text != "" && (err != nil || parsed.Kind != ref.Lane && parsed.Kind != ref.Pool && parsed.Kind != ref.Object) {
				return ui.Usagef("%s is no resource: write lane/NAME, pool/NAME or object/NAME", text)
			}
			return c.Connected(func(ctx *cli.Context, client *starter.Client) error {
				if ctx.Bool(flagPast) {
					return c.pastHolders(ctx, client, parsed)
				}
				return ListResources(c.Program, ctx, client, text)
			})(ctx)
		},
	}
}

// ListResources lists who holds lanes, pools and objects. only is one of them as KIND/NAME, or empty.
func ListResources(p *ui.Program, ctx *cli.Context, client *starter.Client, only string) error {
	view, err := pageWith(ctx.Context, client.Admission().View, only)
	if err != nil {
		return err
	}
	if only == "" {
		notListed(p, view.LaneCount+view.PoolCount+view.ObjectCount-len(view.Lanes)-len(view.Pools)-len(view.Objects))
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
		return p.Answer(ctx, map[string]any{"lanes": lists.OrEmpty(view.Lanes), "pools": lists.OrEmpty(view.Pools), "objects": lists.OrEmpty(view.Objects)})
	}
	listed := ui.NewTable("KIND", "NAME", "IN USE", "WAITING", "SINCE", "HELD BY")
	for _, l := range locksOf(view) {
		listed.Add(ui.Text(l.kind), ui.Textf("%s", l.name), l.inUse, ui.Textf("%d", l.waiting), ui.Text(ui.Ago(l.since(), p.Env.Now())), ui.Textf("%s", usedBy(l.holders)))
	}
	p.PrintTable(listed, "no lane, pool or object is held or waited for")
	return nil
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
func notListed(p *ui.Program, names int) {
	if names > 0 {
		p.Complain("note: %d more names are not listed; the API pages them: GET /lanes, /pools, /objects", names)
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

// pastHolders lists the newest releases. Admission remembers a few hundred of lanes, and as many of pools and objects.
func (c *commands) pastHolders(ctx *cli.Context, client *starter.Client, of ref.Ref) error {
	filter := contract.PastGrantsFilter{Limit: mostPast}
	switch of.Kind { //nolint:exhaustive // the others are no resources
	case ref.Lane:
		filter.Lane = of.Name
	case ref.Pool:
		filter.Pool = of.Name
	case ref.Object:
		filter.Object = of.Name
	}
	past, err := client.Admission().PastGrants(ctx.Context, filter)
	if err != nil {
		return err
	}
	if ui.WantsData(ctx) {
		past.Grants = lists.OrEmpty(past.Grants)
		return c.Answer(ctx, past, ui.Names(past.Grants, func(g contract.PastGrant) string { return g.WorkflowID })...)
	}
	listed := ui.NewTable("RELEASED", "HELD", "WAITED", "WHAT", "BY", "+FOR")
	for _, g := range past.Grants {
		listed.Add(ui.Text(ui.Ago(g.ReleasedAt, c.Env.Now())), ui.Text(ui.Span(g.ReleasedAt.Sub(g.GrantedAt))), ui.Text(ui.Span(g.GrantedAt.Sub(g.RequestedAt))),
			ui.Textf("%s", things(g)), ui.Textf("%s", g.WorkflowID), ui.Textf("%s", g.For))
	}
	c.PrintTable(listed, "nothing that matches was released, as far as admission remembers")
	return nil
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
