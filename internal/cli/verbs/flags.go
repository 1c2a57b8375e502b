package verbs

import (
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
)

// The flags that several verbs have. One name has one meaning.
func stateFlag(states string) cli.Flag {
	return &cli.StringSliceFlag{Name: ui.FlagState, Aliases: []string{"s"}, Usage: "only `STATE`: " + states}
}

func reasonFlag() cli.Flag {
	return &cli.StringFlag{Name: ui.FlagReason, Aliases: []string{"r", ui.FlagNote}, Usage: "`TEXT` for others: why"}
}

func waitFlag() cli.Flag {
	return &cli.BoolFlag{Name: ui.FlagWait, Aliases: []string{"w", ui.FlagWatch}, Usage: "wait until it has ended"}
}

func yesFlag() cli.Flag {
	return &cli.BoolFlag{Name: flagYes, Aliases: []string{"y"}, Usage: "do not ask for confirmation"}
}

func limitFlag() cli.Flag {
	return &cli.IntFlag{Name: ui.FlagLimit, Usage: "at most `N` rows; 0: all", Value: defaultLimit}
}

func paramFlag() cli.Flag {
	return &cli.GenericFlag{Name: flagParam, Aliases: []string{"p"}, Value: &ui.ParamFlag{}, Usage: "`KEY=VALUE` of the params, for this run alone"}
}

func fileFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: flagFile, Aliases: []string{"f"}, Usage: usage}
}

func sortFlag() cli.Flag {
	return &cli.StringFlag{Name: ui.FlagSort, Usage: "sort by `FIELD,...`; -FIELD turns the order around"}
}

func period() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: flagSince, Usage: "from `TIME` on, like 12h"},
		&cli.StringFlag{Name: flagUntil, Usage: "until `TIME`"},
	}
}

const (
	flagYes    = "yes"
	flagParam  = "param"
	flagFile   = "file"
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
	flagFollow = "follow"

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

const (
	stateOpen = "open"
	stateBad  = "bad"
)

// states reads --state: words of known, in any case. stateBad stands for the states in bad.
func states(ctx *cli.Context, known []string, bad ...string) (all []string, err error) {
	for _, written := range ctx.StringSlice(ui.FlagState) {
		at := slices.IndexFunc(known, func(state string) bool { return strings.EqualFold(state, written) })
		switch {
		case at < 0:
			return nil, ui.Usagef("--%s %s: must be one of %s", ui.FlagState, written, strings.Join(known, ", "))
		case known[at] == stateBad:
			all = append(all, bad...)
		default:
			all = append(all, known[at])
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// outcomes reads the --state of runs: an outcome, or one of groups.
func outcomes(ctx *cli.Context, groups ...string) ([]string, error) {
	for _, outcome := range contract.Outcomes() {
		groups = append(groups, string(outcome))
	}
	return states(ctx, groups, string(contract.OutcomeFailed), string(contract.OutcomePartial), string(contract.OutcomeTimeout))
}

func flags(own ...[]cli.Flag) []cli.Flag { return ui.With(slices.Concat(own...)...) }

func lists(own ...[]cli.Flag) []cli.Flag { return ui.ListFlags(slices.Concat(own...)...) }

func some(own ...cli.Flag) []cli.Flag { return own }
