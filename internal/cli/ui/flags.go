package ui

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/internal/lib/suggest"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

// ReasonFlag is --reason.
func ReasonFlag() cli.Flag {
	return &cli.StringFlag{Name: FlagReason, Aliases: []string{"r", "note"}, Usage: "`TEXT` for others: why"}
}

// WaitFlag is --wait.
func WaitFlag() cli.Flag {
	return &cli.BoolFlag{Name: FlagWait, Aliases: []string{"w", FlagWatch}, Usage: "wait until it has ended"}
}

// YesFlag is --yes.
func YesFlag() cli.Flag {
	return &cli.BoolFlag{Name: FlagYes, Aliases: []string{"y"}, Usage: "do not ask for confirmation"}
}

// LimitFlag is --limit of a list that is read in parts.
func LimitFlag() cli.Flag {
	const most = 50
	return &cli.IntFlag{Name: FlagLimit, Usage: "at most `N` rows; 0: all", Value: most}
}

// Limit reads --limit; 0 is [Everything].
func Limit(c *cli.Context) int { return cmp.Or(c.Int(FlagLimit), Everything) }

// ParamFlagOf is --param.
func ParamFlagOf() cli.Flag {
	return &cli.GenericFlag{Name: FlagParam, Aliases: []string{"p"}, Value: &ParamFlag{}, Usage: "`KEY=VALUE` of the params, for this run alone"}
}

// FileFlag is --file.
func FileFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: FlagFile, Aliases: []string{"f"}, Usage: usage}
}

// DryRunFlag is --dry-run.
func DryRunFlag() cli.Flag {
	return &cli.BoolFlag{Name: FlagDryRun, Usage: "print the effect, and change nothing"}
}

// Names of flags that more than one place needs. One name means the same in
// every command.
const (
	FlagConfig    = "config"
	FlagAddress   = "address"
	FlagNamespace = "namespace"
	FlagOutput    = "output"
	FlagNoHeaders = "no-headers"
	FlagJSON      = "json"
	FlagReason    = "reason"
	FlagLimit     = "limit"
	FlagYes       = "yes"
	FlagState     = "state"
	FlagWatch     = "watch"
	FlagDryRun    = "dry-run"

	FlagIgnoreWindow = "ignore-window"
	FlagParam        = "param"
	FlagFile         = "file"
	FlagFollow       = "follow"
	FlagLogLevel     = "log-level"
	FlagLogFormat    = "log-format"
	FlagDataDir      = "data-dir"
	FlagTimeout      = "timeout"
	FlagWait         = "wait"

	FlagHealthAddr = "health-addr"

	CategoryCommon = "Connection and output"
)

// Everything is the [FlagLimit] of a list without one.
const Everything = 1_000_000

// CommonFlags are on every command that talks to a server.
func CommonFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{
			Name: FlagConfig, Aliases: []string{"c"}, Category: CategoryCommon,
			Usage: "read the configuration from `FILE`, or all of a directory; may be given several times (environment: ROUNDSMAN_CONFIG)",
		},
		&cli.StringFlag{
			Name: FlagAddress, Category: CategoryCommon,
			Usage: "`HOST:PORT` of the Temporal server (environment: TEMPORAL_ADDRESS; default " + starter.DefaultAddress + ")",
		},
		&cli.StringFlag{
			Name: FlagNamespace, Aliases: []string{"n"}, Category: CategoryCommon,
			Usage: "Temporal `NAMESPACE` (environment: TEMPORAL_NAMESPACE; default " + starter.DefaultNamespace + ")",
		},
		OutputFlag(),
	}
}

// IgnoreWindowFlag is --ignore-window.
func IgnoreWindowFlag() cli.Flag {
	return &cli.BoolFlag{Name: FlagIgnoreWindow, Usage: "run although the maintenance window is closed"}
}

// CheckAddress refuses an address that gRPC would only ever fail to resolve.
func CheckAddress(c *cli.Context) error {
	address := c.String(FlagAddress)
	if address == "" {
		return nil
	}
	if err := config.CheckAddress(address); err != nil {
		return Usagef("--address: %w", err)
	}
	return nil
}

// OutputFlag is --output.
func OutputFlag() cli.Flag {
	return &cli.StringFlag{
		Name: FlagOutput, Aliases: []string{"o"}, Category: CategoryCommon,
		Usage: "print the answer as `FORMAT`: table, json or yaml", Value: OutputTable,
	}
}

// ListFlags are own followed by the common flags of a command that lists or shows.
func ListFlags(own ...cli.Flag) []cli.Flag {
	common := CommonFlags()
	common[len(common)-1] = &cli.StringFlag{
		Name: FlagOutput, Aliases: []string{"o"}, Category: CategoryCommon, Value: OutputTable,
		Usage: "print the answer as `FORMAT`: table, wide (with more columns), json, yaml or name (one id a line)",
	}
	return append(append(own, common...), &cli.BoolFlag{
		Name: FlagNoHeaders, Category: CategoryCommon, Usage: "print tables without their titles; remarks go to standard error",
	})
}

// LogFlags are on the commands that serve.
func LogFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: FlagLogLevel, Usage: "log from `LEVEL` on: debug, info, warn or error", Value: "info"},
		&cli.StringFlag{Name: FlagLogFormat, Usage: "write the log as `FORMAT`: text or json", Value: "text"},
	}
}

// With returns own followed by the common flags.
func With(own ...cli.Flag) []cli.Flag { return append(own, CommonFlags()...) }

// OneName is the single argument of a command: the name of a job type or worker.
func OneName(c *cli.Context) (string, error) {
	name := c.Args().First()
	if err := jobtype.ValidateName(name); err != nil {
		return "", Faulty(err)
	}
	return name, nil
}

// CheckArguments compares with the command's ArgsUsage: NAME is one, [NAME] none or one, NAME... at least one,
// [NAME...] any number.
func CheckArguments(c *cli.Context) error {
	words, n := strings.Fields(c.Command.ArgsUsage), c.Args().Len()
	low, high := 0, len(words)
	for _, word := range words {
		if !strings.HasPrefix(word, "[") {
			low++
		}
		if strings.Contains(word, "...") {
			high = max(high, n)
		}
	}
	switch {
	case n < low:
		return Usagef("%s is missing: see %s --help", words[n], HelpName(c))
	case n > high:
		word, meant := c.Args().Get(high), ""
		known := lists.Map(c.Command.Subcommands, func(sub *cli.Command) string { return sub.Name })
		if guess := suggest.Word(word, known); guess != "" {
			meant = fmt.Sprintf("did you mean %q? ", guess)
		}
		return Usagef("unexpected argument %q: %ssee %s --help", word, meant, HelpName(c))
	}
	return nil
}

// HelpName is the name as typed: the library repeats the program's name for a command without a parent.
func HelpName(c *cli.Context) string {
	return ProgramName + " " + strings.TrimPrefix(strings.TrimPrefix(c.Command.HelpName, ProgramName+" "), ProgramName+" ")
}
