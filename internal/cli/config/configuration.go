package config

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

func (c *commands) validateCommand() *cli.Command {
	return &cli.Command{
		Name: "validate", Usage: "check a configuration: all faults at once, with file and line",
		Description: `Without --online no server is asked: handlers of other binaries are then unknown.
The exit code is 3 if there is a fault.

Examples:
  roundsman validate
  roundsman validate --config roundsman.yaml --print
  roundsman validate --config roundsman.yaml --online`,
		Flags: ui.With(
			&cli.BoolFlag{Name: "online", Usage: "also accept handlers that workers of the fleet have registered"},
			&cli.BoolFlag{Name: "print", Usage: "print the configuration with all defaults filled in"},
			&cli.BoolFlag{Name: "schema", Usage: "print the JSON Schema of the file, for editors, and check nothing"},
			ui.AllowUnregisteredFlag(),
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
		client, err := c.Connect(ctx)
		if err != nil {
			return err
		}
		defer client.Close()
		if known, err = client.Workers().Handlers(ctx.Context); err != nil {
			return err
		}
	}
	loaded, err := c.Load(ctx, known)
	var faults config.Faults
	switch {
	case errors.As(err, &faults) && ui.WantsJSON(ctx):
		if err := ui.PrintJSON(c.Env.Stdout, map[string]any{"valid": false, "faults": faults, "warnings": []string{}}); err != nil {
			return err
		}
		return ui.Silent(ui.ExitUsage)
	case err != nil:
		return err
	case ctx.Bool("print"):
		return c.printConfig(ctx, loaded)
	case ui.WantsJSON(ctx):
		return ui.PrintJSON(c.Env.Stdout, map[string]any{"valid": true, "faults": []string{}, "warnings": ui.OrEmpty(loaded.Warnings), "job_types": ui.SortedKeys(loaded.JobTypes)})
	}
	c.Warn(loaded.Warnings)
	fmt.Fprintf(c.Env.Stdout, "valid: %s\n", ui.Plural(len(loaded.JobTypes), "job type"))
	return nil
}

func (c *commands) printSchema() error {
	options, err := c.LoadOptions()
	if err != nil {
		return err
	}
	schema, err := config.Schema(options.Handlers)
	if err != nil {
		return err
	}
	_, err = c.Env.Stdout.Write(append(schema, '\n'))
	return err
}

func (c *commands) printConfig(ctx *cli.Context, loaded *config.Config) error {
	format := "yaml"
	if ui.WantsJSON(ctx) {
		format = ui.OutputJSON
	}
	text, err := loaded.Format(format)
	if err != nil {
		return err
	}
	c.Warn(loaded.Warnings)
	_, err = c.Env.Stdout.Write(text)
	return err
}

func (c *commands) planCommand() *cli.Command {
	return &cli.Command{
		Name: "plan", Usage: "show what apply would change; exit code 2 if anything",
		Description: `It also shows what somebody changed by hand in the Web UI (drift).

Examples:
  roundsman plan --config roundsman.yaml
  roundsman plan --output json | jq '.changes[] | select(.action != "unchanged")'`,
		Flags: ui.With(ui.AllowUnregisteredFlag()),
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
			if ui.WantsJSON(ctx) {
				err = ui.PrintJSON(c.Env.Stdout, plan)
			} else {
				c.Warn(loaded.Warnings)
				fmt.Fprintln(c.Env.Stdout, plan)
			}
			if err == nil && !plan.Empty() {
				return ui.Silent(ui.ExitDifference)
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
		Flags:  ui.With(ui.AllowUnregisteredFlag()),
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
	result, err := client.JobTypes().Apply(ctx.Context, plan)
	var incomplete *starter.ApplyError
	if err != nil && !errors.As(err, &incomplete) {
		return err
	}
	if ui.WantsJSON(ctx) {
		if printErr := ui.PrintJSON(c.Env.Stdout, result); printErr != nil {
			return printErr
		}
	} else {
		c.Warn(loaded.Warnings)
		for _, change := range result.Applied {
			fmt.Fprintln(c.Env.Stdout, change)
		}
		fmt.Fprintf(c.Env.Stdout, "%s applied, %d unchanged\n", ui.Plural(len(result.Applied), "change"), result.Unchanged)
	}
	return err
}

func (c *commands) planOf(ctx *cli.Context, client *starter.Client, loaded *config.Config) (starter.Plan, error) {
	specs, err := loaded.Specs()
	if err != nil {
		return starter.Plan{}, err
	}
	return client.JobTypes().Plan(ctx.Context, specs, loaded.Enabled())
}

// loadOnline connects, reads the configuration, and lets it use the handlers
// that the fleet has registered as well as this binary's. The caller closes the
// client.
func (c *commands) loadOnline(ctx *cli.Context) (*starter.Client, *config.Config, error) {
	// Faults first: they need no server.
	loaded, err := c.Load(ctx, nil)
	var faults config.Faults
	if err != nil && (!errors.As(err, &faults) || !c.fleetMayHelp(ctx)) {
		return nil, nil, err
	}
	client, dialErr := c.Connect(ctx)
	if dialErr != nil {
		if err != nil {
			return nil, nil, err
		}
		return nil, nil, dialErr
	}
	if err == nil {
		return client, loaded, nil
	}
	known, fleetErr := client.Workers().Handlers(ctx.Context)
	if fleetErr == nil {
		loaded, err = c.Load(ctx, known)
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
	options, err := c.LoadOptions()
	if err != nil {
		return false
	}
	options.AllowUnregistered = true
	if options.Files = c.ConfigFiles(ctx); len(options.Files) == 0 {
		options.Files = []string{ui.DefaultConfig}
	}
	_, err = config.Load(options)
	return err == nil
}
