package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/buildinfo"
)

// manCommand writes manual pages, for those who package Roundsman.
func (c *commands) manCommand() *cli.Command {
	return &cli.Command{
		Name: "man", ArgsUsage: "DIR", Usage: "write the manual pages into a directory", Hidden: true,
		Description: `One page for each command, generated from the commands themselves.

Examples:
  roundsman man /usr/local/share/man/man1`,
		Flags: []cli.Flag{ui.OutputFlag()},
		Action: func(ctx *cli.Context) error {
			if ctx.Args().Len() != 1 {
				return ui.Usagef("name one DIR: see %s --help", ctx.Command.HelpName)
			}
			dir := ctx.Args().First()
			if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // documentation
				return fmt.Errorf("man: %w", err)
			}
			pages, err := writeManual(dir, c.root())
			if err != nil {
				return err
			}
			return c.Done(ctx, map[string]any{"dir": dir, "pages": pages}, "wrote %d pages to %s", pages, dir)
		},
	}
}

func writeManual(dir string, root *cli.Command) (pages int, err error) {
	var write func(path string, command *cli.Command) error
	write = func(path string, command *cli.Command) error {
		var page strings.Builder
		manPage(&page, path, command)
		name := strings.ReplaceAll(path, " ", "-") + ".1"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(page.String()), 0o644); err != nil { //nolint:gosec // documentation
			return fmt.Errorf("man: %w", err)
		}
		pages++
		for _, sub := range visible(command.Subcommands) {
			if err := write(path+" "+sub.Name, sub); err != nil {
				return err
			}
		}
		return nil
	}
	err = write(ui.ProgramName, root)
	return pages, err
}

func manPage(w io.Writer, path string, command *cli.Command) {
	name := strings.ReplaceAll(path, " ", "-")
	fmt.Fprintf(w, ".TH %s 1 \"\" \"roundsman %s\" \"Roundsman\"\n", strings.ToUpper(manText(name)), manText(buildinfo.Version()))
	fmt.Fprintf(w, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n", manText(name), manText(command.Usage), manText(usageLine(path, command)))
	if command.Description != "" {
		text, examples, found := strings.Cut(command.Description, "\n\nExamples:\n")
		if !found {
			text, examples, found = strings.Cut(command.Description, "Examples:\n")
		}
		if text = strings.TrimSpace(text); text != "" {
			fmt.Fprintf(w, ".SH DESCRIPTION\n%s\n", strings.ReplaceAll(manText(text), "\n\n", "\n.PP\n"))
		}
		if found {
			fmt.Fprintf(w, ".SH EXAMPLES\n.nf\n%s\n.fi\n", manText(strings.TrimRight(examples, "\n")))
		}
	}
	if subs := visible(command.Subcommands); len(subs) > 0 {
		fmt.Fprint(w, ".SH COMMANDS\n")
		for _, sub := range subs {
			fmt.Fprintf(w, ".TP\n.BR %s (1)\n%s\n", manText(name+"-"+sub.Name), manText(sub.Usage))
		}
	}
	own, common := documentedFlags(command)
	if flags := append(own, common...); len(flags) > 0 {
		fmt.Fprint(w, ".SH OPTIONS\n")
		for _, flag := range flags {
			fmt.Fprintf(w, ".TP\n.B %s\n%s\n", manText(flag.names), manText(flag.about))
		}
	}
	fmt.Fprint(w, ".SH EXIT STATUS\n0 done, 1 failed, 2 a difference, 3 wrong usage or a faulty file, 4 a run completed with warnings.\n")
}

func manText(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
