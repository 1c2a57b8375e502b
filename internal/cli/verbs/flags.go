package verbs

import (
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
)

// The flags that several verbs have. One name has one meaning.
func limitFlag() cli.Flag {
	return &cli.IntFlag{Name: ui.FlagLimit, Usage: "at most `N` rows; 0: all", Value: defaultLimit}
}

func paramFlag() cli.Flag {
	return &cli.GenericFlag{Name: ui.FlagParam, Aliases: []string{"p"}, Value: &ui.ParamFlag{}, Usage: "`KEY=VALUE` of the params, for this run alone"}
}

func sortFlag() cli.Flag {
	return &cli.StringFlag{Name: ui.FlagSort, Usage: "sort by `FIELD,...`; -FIELD turns the order around"}
}

const (
	flagSince  = "since"
	flagUntil  = "until"
	flagForce  = "force"
	flagFailed = "failed"
	flagMissed = "missed"
	flagItem   = "item"
	flagKind   = "kind"
	flagFrom   = "from"
	flagAs     = "as"
	flagFor    = "for"

	defaultLimit = 50
)

// limited carries --limit over; 0 is everything.
func (o old) limited(ctx *cli.Context) old {
	limit := ctx.Int(ui.FlagLimit)
	if limit == 0 {
		limit = ui.Everything
	}
	return o.uses(ui.FlagLimit).and("--" + ui.FlagLimit + "=" + strconv.Itoa(limit))
}

func flags(own ...[]cli.Flag) []cli.Flag { return ui.With(slices.Concat(own...)...) }

func lists(own ...[]cli.Flag) []cli.Flag { return ui.ListFlags(slices.Concat(own...)...) }

func some(own ...cli.Flag) []cli.Flag { return own }
