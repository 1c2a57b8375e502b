package ui

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
)

// Groups of states that --state takes.
const (
	StateOpen = "open"
	StateBad  = "bad"
)

// StateFlag is --state of the commands that list.
func StateFlag(states string) cli.Flag {
	return &cli.StringSliceFlag{Name: FlagState, Aliases: []string{"s"}, Usage: "only `STATE`: " + states}
}

// States reads --state: words of known, in any case. [StateBad] stands for the states in bad.
func States(ctx *cli.Context, known []string, bad ...string) (all []string, err error) {
	for _, written := range ctx.StringSlice(FlagState) {
		at := slices.IndexFunc(known, func(state string) bool { return strings.EqualFold(state, written) })
		switch {
		case at < 0:
			return nil, Usagef("--%s %s: must be one of %s", FlagState, written, strings.Join(known, ", "))
		case known[at] == StateBad:
			all = append(all, bad...)
		default:
			all = append(all, known[at])
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// Outcomes reads the --state of runs: an outcome, or one of groups.
func Outcomes(ctx *cli.Context, groups ...string) ([]string, error) {
	for _, outcome := range contract.Outcomes() {
		groups = append(groups, string(outcome))
	}
	return States(ctx, groups, string(contract.OutcomeFailed), string(contract.OutcomePartial), string(contract.OutcomeTimeout))
}
