package cli

import (
	"cmp"
	"slices"

	"github.com/urfave/cli/v2"
)

// ordered sorts commands in the order of the help. Hidden ones come last.
func ordered(all []*cli.Command) []*cli.Command {
	order := slices.Concat(helpGroups()...)
	place := func(command *cli.Command) int {
		at := slices.Index(order, command.Name)
		if at < 0 {
			return len(order)
		}
		return at
	}
	slices.SortStableFunc(all, func(a, b *cli.Command) int { return cmp.Compare(place(a), place(b)) })
	return all
}

func found(root *cli.Command, path []string) *cli.Command {
	command := root
	for _, name := range path {
		at := slices.IndexFunc(command.Subcommands, func(sub *cli.Command) bool { return sub.HasName(name) })
		if at < 0 {
			return nil
		}
		command = command.Subcommands[at]
	}
	return command
}
