package cli

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/app"
	"github.com/roundsman/roundsman/internal/cli/access"
	"github.com/roundsman/roundsman/internal/cli/calendar"
	"github.com/roundsman/roundsman/internal/cli/config"
	"github.com/roundsman/roundsman/internal/cli/dev"
	"github.com/roundsman/roundsman/internal/cli/draft"
	"github.com/roundsman/roundsman/internal/cli/exec"
	"github.com/roundsman/roundsman/internal/cli/inspect"
	"github.com/roundsman/roundsman/internal/cli/jobtypes"
	"github.com/roundsman/roundsman/internal/cli/runs"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/cli/verbs"
	"github.com/roundsman/roundsman/internal/cli/workers"
	"github.com/roundsman/roundsman/internal/lib/buildinfo"
	"github.com/roundsman/roundsman/jobtype"
)

// singleDash is how the parser names a flag: as Go's own programs do.
var singleDash = regexp.MustCompile(` for (?:flag )?-+([a-z][a-z0-9-]*)`)

// Run executes one command line without the program's name, and returns the exit code. It ends in order when ctx
// does.
func Run(ctx context.Context, env ui.Env, args []string, handlers ...jobtype.Handler) int {
	answer := &answerWriter{w: env.Stdout}
	env.Stdout = answer
	c := &commands{&ui.Program{Env: env, Handlers: handlers}}
	root := c.root()
	c.Env.Own = ui.NewRenaming(env.Name, allNames(root))
	env = c.Env
	if words, ok := completionRequest(args); ok {
		for _, word := range c.complete(ctx, root, words) {
			fmt.Fprintln(env.Stdout, word)
		}
		return ui.ExitOK
	}
	arranged, err := arrange(root, args)
	if err != nil {
		return env.Finish(ctx, err)
	}
	if arranged.help || holdsOthers(arranged.command) && len(arranged.flags) == 0 {
		c.printHelp(strings.Join(append([]string{ui.ProgramName}, arranged.path...), " "), arranged.command)
		return ui.ExitOK
	}
	err = c.app(root).RunContext(ctx, arranged.line(ui.ProgramName))
	if err == nil {
		err = answer.lost()
	}
	return env.Finish(ctx, c.Whole(err))
}

// Main is [MainAs] under the name of Roundsman's own binary.
func Main(args []string, handlers ...jobtype.Handler) int {
	return MainAs(ui.ProgramName, args, handlers...)
}

// MainAs runs the process's own command line; texts print name as the program. The first SIGINT or SIGTERM ends the
// command in order, the second one at once.
func MainAs(name string, args []string, handlers ...jobtype.Handler) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	// Giving the signal back to the system makes the second one fatal.
	context.AfterFunc(ctx, stop)
	env := ui.SystemEnv()
	ctx, unwatch := stacksOnQuit(ctx, env.Stderr)
	defer unwatch()
	env.Shim, env.Name = app.OwnShim(), name
	return Run(ctx, env, args, handlers...)
}

func (c *commands) root() *cli.Command {
	root := &cli.Command{
		Name:  ui.ProgramName,
		Usage: "maintenance jobs on Temporal: detect work, run it on the right node, under limits",
		Description: "Start with `roundsman dev`: it runs a Temporal server, its Web UI, the control plane and two\n" +
			"workers on this machine.",
		Subcommands: ordered(slices.Concat(
			verbs.Commands(c.Program), dev.Commands(c.Program), config.Commands(c.Program), jobtypes.Commands(c.Program), runs.Commands(c.Program), exec.Commands(c.Program), draft.Commands(c.Program), workers.Commands(c.Program), calendar.Commands(c.Program), inspect.Commands(c.Program), access.Commands(c.Program),
			[]*cli.Command{c.completionCommand(), c.manCommand(), c.refsHelp()},
		)),
		Flags: []cli.Flag{&cli.BoolFlag{Name: "version", Aliases: []string{"v"}, Usage: "print the version"}},
	}
	c.prepare(root.Subcommands, ui.ProgramName)
	return root
}

func (c *commands) app(root *cli.Command) *cli.App {
	return &cli.App{
		Name: ui.ProgramName, HelpName: ui.ProgramName, Commands: root.Subcommands, Flags: root.Flags,
		HideVersion: true, HideHelp: true, HideHelpCommand: true,
		Reader: c.Env.Stdin, Writer: c.Env.Stdout, ErrWriter: c.Env.Stderr,
		// Exit codes are the caller's: urfave would end the process.
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   usageError,
		Action: func(*cli.Context) error {
			fmt.Fprintln(c.Env.Stdout, buildinfo.Program())
			return nil
		},
	}
}

func (c *commands) prepare(all []*cli.Command, path string) {
	for _, command := range all {
		command.HideHelp = true
		command.OnUsageError = usageError
		command.HelpName = path + " " + command.Name
		if action, check := command.Action, command.Before; action != nil {
			// Everything that can be judged without a server is judged first.
			command.Before = nil
			command.Action = func(ctx *cli.Context) error {
				if err := errors.Join(ui.CheckArguments(ctx), ui.CheckOutput(ctx), ui.CheckAddress(ctx), checkText(ctx)); err != nil {
					return ui.Faulty(err)
				}
				if check != nil {
					if err := check(ctx); err != nil {
						return err
					}
				}
				c.Look(ctx)
				return action(ctx)
			}
		}
		c.prepare(command.Subcommands, command.HelpName)
	}
}

func usageError(ctx *cli.Context, err error, _ bool) error {
	here := ui.ProgramName
	if ctx.Command != nil && ctx.Command.HelpName != "" {
		here = ui.HelpName(ctx)
	}
	text := singleDash.ReplaceAllString(err.Error(), " for --$1")
	if named := singleDash.FindStringSubmatch(err.Error()); named != nil && ctx.Command != nil {
		text = strings.Replace(text, "parse error", howWritten(ctx.Command.Flags, named[1]), 1)
		if len(named[1]) == 1 {
			text = strings.Replace(text, " for --"+named[1], " for -"+named[1], 1)
		}
	}
	return ui.Usagef("%s: see %s --help", text, here)
}

func howWritten(flags []cli.Flag, name string) string {
	at := slices.IndexFunc(flags, func(flag cli.Flag) bool { return slices.Contains(flag.Names(), name) })
	if at >= 0 {
		switch flags[at].(type) {
		case *cli.DurationFlag:
			return "write it like 45s, 30m or 2h"
		case *cli.IntFlag, *cli.Int64Flag:
			return "write a whole number"
		case *cli.BoolFlag:
			return "write true or false"
		}
	}
	return "it cannot be read"
}

type commands struct{ *ui.Program }
