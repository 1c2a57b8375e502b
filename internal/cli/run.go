package cli

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"regexp"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/buildinfo"
	"github.com/roundsman/roundsman/jobtype"
)

const program = "roundsman"

// singleDash is how the parser names a flag: as Go's own programs do.
var singleDash = regexp.MustCompile(` for (?:flag )?-+([a-z])`)

// commands carries what every command needs.
type commands struct {
	env      Env
	handlers []jobtype.Handler
}

// Run executes one command line, which excludes the program's name, and returns
// the exit code. It ends early, in order, when ctx does. handlers are those of
// the binary beside the built-in ones.
func Run(ctx context.Context, env Env, args []string, handlers ...jobtype.Handler) int {
	answer := &answerWriter{w: env.Stdout}
	env.Stdout = answer
	c := &commands{env: env, handlers: handlers}
	root := c.root()
	if words, ok := completionRequest(args); ok {
		for _, word := range complete(root, words) {
			fmt.Fprintln(env.Stdout, word)
		}
		return ExitOK
	}
	arranged, err := arrange(root, args)
	if err != nil {
		return env.finish(ctx, err)
	}
	if arranged.help || len(arranged.command.Subcommands) > 0 && len(arranged.flags) == 0 {
		printHelp(env.Stdout, strings.Join(append([]string{program}, arranged.path...), " "), arranged.command)
		return ExitOK
	}
	err = c.app(root).RunContext(ctx, arranged.line(program))
	if err == nil {
		err = answer.lost()
	}
	return env.finish(ctx, err)
}

// Main runs the process's own command line. The first SIGINT or SIGTERM ends
// the command in order, the second one at once.
func Main(args []string, handlers ...jobtype.Handler) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	// Giving the signal back to the system makes the second one fatal.
	context.AfterFunc(ctx, stop)
	return Run(ctx, SystemEnv(), args, handlers...)
}

// root is the tree of all commands.
func (c *commands) root() *cli.Command {
	root := &cli.Command{
		Name:  program,
		Usage: "maintenance jobs on Temporal: detect what needs doing, run it on the right node, under limits",
		Description: "Start with `roundsman dev`: it runs a Temporal server, its Web UI, the control plane and two\n" +
			"workers on this machine.",
		Subcommands: []*cli.Command{
			c.devCommand(), c.serverCommand(), c.workerCommand(),
			c.validateCommand(), c.planCommand(), c.applyCommand(),
			c.jobTypesCommand(), c.runsCommand(), c.jobsCommand(), c.dagCommand(), c.workersCommand(),
			c.poolsCommand(), c.explainCommand(), c.auditCommand(),
			c.doctorCommand(), c.versionCommand(), c.completionCommand(),
		},
		Flags: []cli.Flag{&cli.BoolFlag{Name: "version", Aliases: []string{"v"}, Usage: "print the version"}},
	}
	prepare(root.Subcommands, program)
	return root
}

// app wraps the tree for the parser.
func (c *commands) app(root *cli.Command) *cli.App {
	return &cli.App{
		Name: program, HelpName: program, Commands: root.Subcommands, Flags: root.Flags,
		HideVersion: true, HideHelp: true, HideHelpCommand: true,
		Reader: c.env.Stdin, Writer: c.env.Stdout, ErrWriter: c.env.Stderr,
		// Exit codes are the caller's: urfave would end the process.
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   usageError,
		Action: func(*cli.Context) error {
			fmt.Fprintln(c.env.Stdout, program, buildinfo.Version())
			return nil
		},
	}
}

// prepare gives every command what all of them share.
func prepare(all []*cli.Command, path string) {
	for _, command := range all {
		command.HideHelp = true
		command.OnUsageError = usageError
		command.HelpName = path + " " + command.Name
		if action, check := command.Action, command.Before; action != nil {
			// Everything that can be judged without a server is judged first.
			command.Before = nil
			command.Action = func(ctx *cli.Context) error {
				if err := errors.Join(checkArguments(ctx), checkOutput(ctx), checkAddress(ctx), checkText(ctx)); err != nil {
					return faulty(err)
				}
				if check != nil {
					if err := check(ctx); err != nil {
						return err
					}
				}
				return action(ctx)
			}
		}
		prepare(command.Subcommands, command.HelpName)
	}
}

// usageError is told by the parser: a value that a flag cannot take.
func usageError(ctx *cli.Context, err error, _ bool) error {
	here := program
	if ctx.Command != nil && ctx.Command.HelpName != "" {
		here = helpName(ctx)
	}
	return usagef("%s: see %s --help", singleDash.ReplaceAllString(err.Error(), " for --$1"), here)
}
