package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
)

func (c *commands) printHelp(path string, command *cli.Command) {
	var text strings.Builder
	printHelp(&text, path, command)
	named := c.Env.Own.Text(text.String())
	// The first line of the root has no command after the name.
	fmt.Fprint(c.Env.Stdout, c.Env.Own.Name(), strings.TrimPrefix(strings.TrimPrefix(named, c.Env.Own.Name()), ui.ProgramName))
}

func allNames(root *cli.Command) (names []string) {
	for _, sub := range root.Subcommands {
		names = append(names, sub.Names()...)
	}
	return append(names, completionWord)
}

func printHelp(w io.Writer, path string, command *cli.Command) {
	fmt.Fprintf(w, "%s - %s\n\nUsage: %s\n", path, command.Usage, usageLine(path, command))
	if command.Description != "" {
		fmt.Fprintf(w, "\n%s\n", command.Description)
	}
	if subs := visible(command.Subcommands); len(subs) > 0 {
		printCommands(w, subs)
		fmt.Fprintf(w, "\n%s COMMAND --help shows more.", path)
		if path == ui.ProgramName {
			fmt.Fprintf(w, " %s help refs shows how runs, jobs and all else are named.", path)
		}
		fmt.Fprintln(w)
	}
	own, common := documentedFlags(command)
	printFlags(w, "Flags", own)
	printFlags(w, ui.CategoryCommon, common)
}

func helpGroups() [][]string {
	return [][]string{
		{"Look", "status", "runs", "jobs", "show", "explain", "logs", "watch", "schedule"},
		{"Act", "start", "submit", "exec", "retry", "cancel", "pause", "resume", "approve", "reject", "skip", "set"},
		{"Fleet", "workers", "drain", "resources", "holds", "delete"},
		{"Configure", "init", "validate", "plan", "apply", "jobtypes", "import"},
		{"Administer", "doctor", "audit", "receivers", "keys"},
		{"Processes", "dev", "server", "worker", "gateway"},
		{"Other", "completion"},
	}
}

type commandDoc struct{ name, about string }

// A command that only holds others has no line.
func listedIn(prefix string, command *cli.Command) []commandDoc {
	var docs []commandDoc
	if command.Action != nil {
		docs = append(docs, commandDoc{prefix + command.Name, command.Usage})
	}
	for _, sub := range visible(command.Subcommands) {
		docs = append(docs, listedIn(prefix+command.Name+" ", sub)...)
	}
	return docs
}

func printCommands(w io.Writer, subs []*cli.Command) {
	const width = 19
	list := func(commands []*cli.Command) {
		for _, command := range commands {
			for _, doc := range listedIn("", command) {
				fmt.Fprintf(w, "  %-*s  %s\n", width, doc.name, doc.about)
			}
		}
	}
	if !slices.ContainsFunc(subs, func(sub *cli.Command) bool { return sub.Name == "dev" }) {
		fmt.Fprintln(w, "\nCommands:")
		list(subs)
		return
	}
	for _, group := range helpGroups() {
		fmt.Fprintf(w, "\n%s:\n", group[0])
		for _, name := range group[1:] {
			list(slices.DeleteFunc(slices.Clone(subs), func(sub *cli.Command) bool { return sub.Name != name }))
		}
	}
}

func usageLine(path string, command *cli.Command) string {
	line := path
	if holdsOthers(command) {
		return line + " COMMAND"
	}
	if command.ArgsUsage != "" {
		line += " " + command.ArgsUsage
	}
	if len(command.Flags) > 0 {
		line += " [flags]"
	}
	return line
}

func visible(all []*cli.Command) []*cli.Command {
	return slices.DeleteFunc(slices.Clone(all), func(command *cli.Command) bool { return command.Hidden })
}

type flagDoc struct{ names, about string }

func documentedFlags(command *cli.Command) (own, common []flagDoc) {
	for _, flag := range command.Flags {
		documented, ok := flag.(cli.DocGenerationFlag)
		hidden, _ := flag.(cli.VisibleFlag)
		if !ok || hidden != nil && !hidden.IsVisible() {
			continue
		}
		placeholder, usage := unquoteUsage(documented.GetUsage())
		doc := flagDoc{names: flagTitle(flag.Names(), placeholder), about: usage}
		if value := documented.GetValue(); documented.TakesValue() && value != "" && value != "[]" && !strings.Contains(usage, "(default: ") {
			doc.about += " (default: " + value + ")"
		}
		if categorized, ok := flag.(cli.CategorizableFlag); ok && categorized.GetCategory() == ui.CategoryCommon {
			common = append(common, doc)
		} else {
			own = append(own, doc)
		}
	}
	return own, common
}

func flagTitle(names []string, placeholder string) string {
	var parts []string
	for _, name := range names {
		dashes := "--"
		if len(name) == 1 {
			dashes = "-"
		}
		parts = append(parts, dashes+name)
	}
	return strings.TrimSpace(strings.Join(parts, ", ") + " " + placeholder)
}

// unquoteUsage takes the name of the value out of a usage, where it stands in backquotes.
func unquoteUsage(usage string) (placeholder, text string) {
	parts := strings.SplitN(usage, "`", 3)
	if len(parts) < 3 {
		return "", usage
	}
	return parts[1], strings.Join(parts, "")
}

func printFlags(w io.Writer, title string, flags []flagDoc) {
	if len(flags) == 0 {
		return
	}
	width := 0
	for _, flag := range flags {
		width = max(width, len(flag.names))
	}
	fmt.Fprintf(w, "\n%s:\n", title)
	for _, flag := range flags {
		fmt.Fprintf(w, "  %-*s  %s\n", width, flag.names, flag.about)
	}
}
