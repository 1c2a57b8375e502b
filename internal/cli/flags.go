package cli

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

// Names of flags that more than one place needs. One name means the same in
// every command.
const (
	flagConfig    = "config"
	flagAddress   = "address"
	flagNamespace = "namespace"
	flagOutput    = "output"
	flagJSON      = "json"
	flagJobType   = "job-type"
	flagReason    = "reason"
	flagLimit     = "limit"
	flagYes       = "yes"
	flagLogLevel  = "log-level"
	flagLogFormat = "log-format"
	flagDataDir   = "data-dir"
	flagTimeout   = "timeout"
	flagRun       = "run"
	flagWait      = "wait"
	flagInterval  = "interval"

	categoryCommon = "Connection and output"
)

// commonFlags are on every command that talks to a server.
func commonFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{
			Name: flagConfig, Aliases: []string{"c"}, Category: categoryCommon,
			Usage: "read the configuration from `FILE`; may be given several times (environment: ROUNDSMAN_CONFIG)",
		},
		&cli.StringFlag{
			Name: flagAddress, Category: categoryCommon,
			Usage: "`HOST:PORT` of the Temporal server (environment: TEMPORAL_ADDRESS; default " + starter.DefaultAddress + ")",
		},
		&cli.StringFlag{
			Name: flagNamespace, Category: categoryCommon,
			Usage: "Temporal `NAMESPACE` (environment: TEMPORAL_NAMESPACE; default " + starter.DefaultNamespace + ")",
		},
		outputFlag(),
	}
}

// checkAddress refuses an address that gRPC would only ever fail to resolve.
func checkAddress(c *cli.Context) error {
	address := c.String(flagAddress)
	if address == "" {
		return nil
	}
	if err := config.CheckAddress(address); err != nil {
		return usagef("--address: %w", err)
	}
	return nil
}

func outputFlag() cli.Flag {
	return &cli.StringFlag{
		Name: flagOutput, Aliases: []string{"o"}, Category: categoryCommon,
		Usage: "print the answer as `FORMAT`: table or json", Value: outputTable,
	}
}

// logFlags are on the commands that serve.
func logFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: flagLogLevel, Usage: "log from `LEVEL` on: debug, info, warn or error", Value: "info"},
		&cli.StringFlag{Name: flagLogFormat, Usage: "write the log as `FORMAT`: text or json", Value: "text"},
	}
}

// with returns own followed by the common flags.
func with(own ...cli.Flag) []cli.Flag { return append(own, commonFlags()...) }

// oneName is the single argument of a command that takes the name of a job
// type or worker.
func oneName(c *cli.Context) (string, error) {
	name := c.Args().First()
	if err := jobtype.ValidateName(name); err != nil {
		return "", faulty(err)
	}
	return name, nil
}

// checkArguments refuses a number of arguments that does not fit the command's
// ArgsUsage, which names one after the other: NAME is one, [NAME] none or one,
// NAME... at least one, [NAME...] any number.
func checkArguments(c *cli.Context) error {
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
		return usagef("%s is missing: see %s --help", words[n], helpName(c))
	case n > high:
		return usagef("unexpected argument %q: see %s --help", c.Args().Get(high), helpName(c))
	}
	return nil
}

// helpName is how the command is written. The library names the program twice in
// that of a command which is nobody's subcommand.
func helpName(c *cli.Context) string {
	return program + " " + strings.TrimPrefix(strings.TrimPrefix(c.Command.HelpName, program+" "), program+" ")
}
