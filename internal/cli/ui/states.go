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

// StatesFlag is --state, with the states that it takes.
type StatesFlag struct {
	*cli.StringSliceFlag

	States []string
}

// StateFlag is --state of the commands that list.
func StateFlag(usage string, states ...string) cli.Flag {
	return &StatesFlag{States: states, StringSliceFlag: &cli.StringSliceFlag{Name: FlagState, Aliases: []string{"s"}, Usage: "only `STATE`: " + usage}}
}

// OutcomeStates are the groups and the outcomes of runs.
func OutcomeStates(groups ...string) []string {
	return append(groups, Names(contract.Outcomes(), func(outcome contract.Outcome) string { return string(outcome) })...)
}

// States reads --state, in any case. [StateBad] stands for the states in bad, by default those of runs.
func States(ctx *cli.Context, bad ...string) (all []string, err error) {
	if len(bad) == 0 {
		bad = []string{string(contract.OutcomeFailed), string(contract.OutcomePartial), string(contract.OutcomeTimeout)}
	}
	known := KnownStates(ctx.Command)
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

// KnownStates are the values of --state in a command.
func KnownStates(command *cli.Command) []string {
	for _, flag := range command.Flags {
		if states, ok := flag.(*StatesFlag); ok {
			return states.States
		}
	}
	return nil
}
