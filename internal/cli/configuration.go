package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

const flagAllowUnregistered = "allow-unregistered"

func allowUnregisteredFlag() cli.Flag {
	return &cli.BoolFlag{Name: flagAllowUnregistered, Usage: "accept handlers that neither this binary nor (where a server is asked) the fleet knows"}
}

// load reads the configuration of a command about configuration. known are
// handlers that live in other binaries.
func (c *commands) load(ctx *cli.Context, known []jobtype.Descriptor) (*config.Config, error) {
	options, err := c.loadOptions()
	if err != nil {
		return nil, err
	}
	for _, descriptor := range known {
		if !describes(options.Handlers, descriptor.Name) {
			options.Handlers = append(options.Handlers, descriptor)
		}
	}
	options.AllowUnregistered = ctx.Bool(flagAllowUnregistered)
	options.Files = c.configFiles(ctx)
	if len(options.Files) == 0 {
		if _, err := os.Stat(defaultConfig); errors.Is(err, fs.ErrNotExist) {
			return nil, usagef("no configuration: name one with --config FILE, or write %s in this directory", defaultConfig)
		}
		options.Files = []string{defaultConfig}
	}
	loaded, err := config.Load(options)
	if err != nil {
		return nil, faulty(err)
	}
	loaded.Temporal = withFlags(ctx, loaded.Temporal)
	return loaded, nil
}

func describes(descriptors []jobtype.Descriptor, name string) bool {
	for _, descriptor := range descriptors {
		if descriptor.Name == name {
			return true
		}
	}
	return false
}

func (c *commands) warn(warnings config.Faults) {
	for _, warning := range warnings {
		fmt.Fprintf(c.env.Stderr, "warning: %s\n", warning)
	}
}

func (c *commands) validateCommand() *cli.Command {
	return &cli.Command{
		Name: "validate", Usage: "check a configuration: all faults at once, with file and line",
		Description: `Without --online no server is asked: handlers of other binaries are then unknown.
The exit code is 2 if there is a fault.

Examples:
  roundsman validate
  roundsman validate --config roundsman.yaml --print
  roundsman validate --config roundsman.yaml --online`,
		Flags: with(
			&cli.BoolFlag{Name: "online", Usage: "also accept handlers that workers of the fleet have registered"},
			&cli.BoolFlag{Name: "print", Usage: "print the configuration with all defaults filled in"},
			&cli.BoolFlag{Name: "schema", Usage: "print the JSON Schema of the file, for editors, and check nothing"},
			allowUnregisteredFlag(),
		),
		Action: c.validate,
	}
}

func (c *commands) validate(ctx *cli.Context) error {
	if ctx.Bool("schema") {
		return c.printSchema()
	}
	var known []jobtype.Descriptor
	if ctx.Bool("online") {
		client, err := c.connect(ctx)
		if err != nil {
			return err
		}
		defer client.Close()
		if known, err = client.Handlers(ctx.Context); err != nil {
			return err
		}
	}
	loaded, err := c.load(ctx, known)
	var faults config.Faults
	switch {
	case errors.As(err, &faults) && wantsJSON(ctx):
		if err := printJSON(c.env.Stdout, map[string]any{"valid": false, "faults": faults, "warnings": []string{}}); err != nil {
			return err
		}
		return silent(ExitUsage)
	case err != nil:
		return err
	case ctx.Bool("print"):
		return c.printConfig(ctx, loaded)
	case wantsJSON(ctx):
		return printJSON(c.env.Stdout, map[string]any{"valid": true, "faults": []string{}, "warnings": orEmpty(loaded.Warnings), "job_types": sortedKeys(loaded.JobTypes)})
	}
	c.warn(loaded.Warnings)
	fmt.Fprintf(c.env.Stdout, "valid: %s\n", plural(len(loaded.JobTypes), "job type"))
	return nil
}

func (c *commands) printSchema() error {
	options, err := c.loadOptions()
	if err != nil {
		return err
	}
	schema, err := config.Schema(options.Handlers)
	if err != nil {
		return err
	}
	_, err = c.env.Stdout.Write(append(schema, '\n'))
	return err
}

func (c *commands) printConfig(ctx *cli.Context, loaded *config.Config) error {
	format := "yaml"
	if wantsJSON(ctx) {
		format = outputJSON
	}
	text, err := loaded.Format(format)
	if err != nil {
		return err
	}
	c.warn(loaded.Warnings)
	_, err = c.env.Stdout.Write(text)
	return err
}

func (c *commands) planCommand() *cli.Command {
	return &cli.Command{
		Name: "plan", Usage: "show what apply would change; exit code 2 if anything",
		Description: `It also shows what somebody changed by hand in the Web UI (drift).

Examples:
  roundsman plan --config roundsman.yaml
  roundsman plan --output json | jq '.changes[] | select(.action != "unchanged")'`,
		Flags: with(allowUnregisteredFlag()),
		Action: func(ctx *cli.Context) error {
			client, loaded, err := c.loadOnline(ctx)
			if err != nil {
				return err
			}
			defer client.Close()
			plan, err := c.planOf(ctx, client, loaded)
			if err != nil {
				return err
			}
			if wantsJSON(ctx) {
				err = printJSON(c.env.Stdout, plan)
			} else {
				c.warn(loaded.Warnings)
				fmt.Fprintln(c.env.Stdout, plan)
			}
			if err == nil && !plan.Empty() {
				return silent(ExitUsage)
			}
			return err
		},
	}
}

func (c *commands) applyCommand() *cli.Command {
	return &cli.Command{
		Name: "apply", Usage: "make the Schedules what the configuration says",
		Description: `Creates, updates and deletes the Schedules that Roundsman owns; groups that run go on. Applying
twice changes nothing the second time. A job type that a person paused stays paused.

Examples:
  roundsman apply --config roundsman.yaml
  roundsman plan && echo "nothing to do" || roundsman apply`,
		Flags:  with(allowUnregisteredFlag()),
		Action: c.apply,
	}
}

func (c *commands) apply(ctx *cli.Context) error {
	client, loaded, err := c.loadOnline(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	plan, err := c.planOf(ctx, client, loaded)
	if err != nil {
		return err
	}
	result, err := client.Apply(ctx.Context, plan)
	var incomplete *starter.ApplyError
	if err != nil && !errors.As(err, &incomplete) {
		return err
	}
	if wantsJSON(ctx) {
		if printErr := printJSON(c.env.Stdout, result); printErr != nil {
			return printErr
		}
	} else {
		c.warn(loaded.Warnings)
		for _, change := range result.Applied {
			fmt.Fprintln(c.env.Stdout, change)
		}
		fmt.Fprintf(c.env.Stdout, "%s applied, %d unchanged\n", plural(len(result.Applied), "change"), result.Unchanged)
	}
	return err
}

func (c *commands) planOf(ctx *cli.Context, client *starter.Client, loaded *config.Config) (starter.Plan, error) {
	specs, err := loaded.Specs()
	if err != nil {
		return starter.Plan{}, err
	}
	return client.Plan(ctx.Context, specs, loaded.Enabled())
}

// loadOnline connects, reads the configuration, and lets it use the handlers
// that the fleet has registered as well as this binary's. The caller closes the
// client.
func (c *commands) loadOnline(ctx *cli.Context) (*starter.Client, *config.Config, error) {
	// Faults first: they need no server.
	loaded, err := c.load(ctx, nil)
	var faults config.Faults
	if err != nil && (!errors.As(err, &faults) || !c.fleetMayHelp(ctx)) {
		return nil, nil, err
	}
	client, dialErr := c.connect(ctx)
	if dialErr != nil {
		if err != nil {
			return nil, nil, err
		}
		return nil, nil, dialErr
	}
	if err == nil {
		return client, loaded, nil
	}
	known, fleetErr := client.Handlers(ctx.Context)
	if fleetErr == nil {
		loaded, err = c.load(ctx, known)
	}
	if err != nil {
		client.Close()
		return nil, nil, err
	}
	return client, loaded, nil
}

// fleetMayHelp reports whether the only faults are handlers that this binary
// does not know.
func (c *commands) fleetMayHelp(ctx *cli.Context) bool {
	options, err := c.loadOptions()
	if err != nil {
		return false
	}
	options.AllowUnregistered = true
	if options.Files = c.configFiles(ctx); len(options.Files) == 0 {
		options.Files = []string{defaultConfig}
	}
	_, err = config.Load(options)
	return err == nil
}
