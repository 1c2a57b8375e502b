package cli

import (
	"cmp"
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
)

// kept are the older commands that stay visible.
func kept() []string {
	return []string{
		"dev", "server", "worker", "gateway", "init", "validate", "plan", "apply", "status", "explain", "schedule", "doctor", "completion", "exec",
		"import", "runs", "jobs", "logs", "watch", "submit", "jobtypes", "workers", "drain", "resources", "audit", "receivers", "holds", "keys", "keys create", "gateway seaweedfs",
	}
}

// An older command is hidden if a verb does the same. Those below the name of a verb stay below it.
func tree(verbs, older []*cli.Command) []*cli.Command {
	all := slices.Clone(verbs)
	for _, command := range older {
		hide(command.Name, command)
		command.Hidden = command.Hidden || !slices.Contains(kept(), command.Name)
		for _, sub := range command.Subcommands {
			sub.Hidden = sub.Hidden || !slices.Contains(kept(), command.Name+" "+sub.Name)
		}
		at := slices.IndexFunc(all, func(verb *cli.Command) bool { return verb.Name == command.Name })
		if at < 0 {
			all = append(all, command)
			continue
		}
		all[at].Subcommands = append(all[at].Subcommands, command.Subcommands...)
	}
	return ordered(all)
}

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

// hiddenFlags are flags that are accepted and not shown: few people need them.
func hiddenFlags() map[string][]string {
	return map[string][]string{
		"dev": {"log-level", "log-format", "allow-unregistered", "json", "temporal-cli"}, "worker": {"shared", "exit-when-idle"},
		"gateway seaweedfs": {"grpc-listen", "max-workers", "drain-timeout"}, "status": {"watch", "interval"},
		"plan": {"allow-unregistered", "only"}, "apply": {"allow-unregistered", "only"},
	}
}

func hide(path string, command *cli.Command) {
	for _, flag := range command.Flags {
		if !slices.Contains(hiddenFlags()[path], flag.Names()[0]) {
			continue
		}
		switch flag := flag.(type) {
		case *cli.BoolFlag:
			flag.Hidden = true
		case *cli.StringFlag:
			flag.Hidden = true
		case *cli.StringSliceFlag:
			flag.Hidden = true
		case *cli.IntFlag:
			flag.Hidden = true
		case *cli.DurationFlag:
			flag.Hidden = true
		}
	}
	for _, sub := range command.Subcommands {
		hide(path+" "+sub.Name, sub)
	}
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

func (c *commands) forward(ctx context.Context, name string, words []string) error {
	root := c.root()
	line, err := arrange(root, words)
	if err != nil {
		return err
	}
	line.command.HelpName = name
	return c.app(root).RunContext(ctx, line.line(ui.ProgramName)) //nolint:wrapcheck // the error is the command's own
}
