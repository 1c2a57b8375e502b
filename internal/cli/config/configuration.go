package config

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/internal/cli/dag"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

func (c *commands) validateCommand() *cli.Command {
	return &cli.Command{
		Name: "validate", ArgsUsage: "[FILE...]", Usage: "check configurations and DAG files",
		Description: `Without --online no server is used: handlers of other binaries are then unknown.
The exit code is 3 if there is a fault.

Examples:
  roundsman validate
  roundsman validate roundsman.yaml rollout.yaml
  roundsman validate --config roundsman.yaml --print
  roundsman validate rollout.yaml --schema > dag.schema.json
  roundsman validate --config roundsman.yaml --online`,
		Flags: ui.With(
			&cli.BoolFlag{Name: "online", Usage: "also accept handlers that workers of the fleet have registered"},
			&cli.BoolFlag{Name: "print", Usage: "print the configuration with all defaults filled in"},
			&cli.BoolFlag{Name: "schema", Usage: "print the JSON Schema, of FILE if it is a DAG, and check nothing"},
			ui.AllowUnregisteredFlag(false),
		),
		Action: c.validate,
	}
}

func (c *commands) validate(ctx *cli.Context) error {
	if ctx.Args().Len() > 0 {
		return c.validateFiles(ctx)
	}
	return c.validateConfig(ctx)
}

func (c *commands) validateConfig(ctx *cli.Context) error {
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
	case errors.As(err, &faults) && ui.WantsData(ctx):
		if err := c.Answer(ctx, map[string]any{"valid": false, "faults": faults, "warnings": []string{}}); err != nil {
			return err
		}
		return ui.Silent(ui.ExitUsage)
	case err != nil:
		return err
	case ctx.Bool("print"):
		return c.printConfig(ctx, loaded)
	case ui.WantsData(ctx):
		return c.Answer(ctx, map[string]any{"valid": true, "faults": []string{}, "warnings": lists.OrEmpty(loaded.Warnings), "job_types": ui.SortedKeys(loaded.JobTypes)})
	}
	c.Warn(loaded.Warnings)
	c.Print("valid: %s", ui.Plural(len(loaded.JobTypes), "job type"))
	return nil
}

// validateFiles checks each file: one with tasks and without job types is a DAG, any other a configuration.
func (c *commands) validateFiles(ctx *cli.Context) error {
	var faults []error
	for _, file := range ctx.Args().Slice() {
		text, err := os.ReadFile(file)
		switch {
		case file != ui.StdinName && (err != nil || !isDAG.Match(text) || isConfiguration.Match(text)):
			err = c.validateConfig(withConfig(ctx, file))
		case ctx.Bool("print"):
			err = ui.Usagef("--print has no effect on %[1]s, which is a DAG: leave it out, or see its tasks with `roundsman start %[1]s --dry-run`", file)
		case ctx.Bool("schema"):
			err = dag.PrintSchema(c.Program)
		default:
			err = dag.Validate(c.Program, ctx, file)
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// withConfig is the command line with file as its configuration.
func withConfig(ctx *cli.Context, file string) *cli.Context {
	set := flag.NewFlagSet(ui.FlagConfig, flag.ContinueOnError)
	set.Var(cli.NewStringSlice(file), ui.FlagConfig, "")
	with := cli.NewContext(ctx.App, set, ctx)
	with.Command = ctx.Command
	return with
}

var (
	isDAG           = regexp.MustCompile(`(?m)^\s*["']?tasks["']?\s*:`)
	isConfiguration = regexp.MustCompile(`(?m)^["']?job_types["']?\s*:`)
)

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
		Name: "plan", ArgsUsage: "[NAME...]", Usage: "show the changes of apply (exit code 2 if any)",
		Description: `It also shows manual changes in the Web UI (drift). --allow-unregistered accepts handlers that no worker has registered.

Examples:
  roundsman plan --config roundsman.yaml
  roundsman plan scrub
  roundsman plan --output json | jq '.changes[] | select(.action != "unchanged")'`,
		Flags: ui.With(onlyFlag(), ui.AllowUnregisteredFlag(true)),
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
			if ui.WantsData(ctx) {
				err = c.Answer(ctx, struct {
					place
					jobtypes.Plan
				}{placeOf(loaded), plan})
			} else {
				c.Warn(loaded.Warnings)
				c.Print("%s\n%s", placeOf(loaded), c.Env.Own.Code(plan.String()))
			}
			if err == nil && !plan.Empty() {
				return ui.Silent(ui.ExitDifference)
			}
			return err
		},
	}
}

type place struct {
	Server string `json:"server"`
	// From is the origin of the address.
	From      string `json:"server_from,omitempty"`
	Namespace string `json:"namespace"`
	Owner     string `json:"owner,omitempty"`
}

func placeOf(loaded *config.Config) place {
	to := loaded.Temporal
	from := to.Source
	if to.Written != "" && to.Written != to.Address {
		from += "; " + to.File + " has " + to.Written
	}
	return place{to.Address, from, to.Namespace, loaded.Owner}
}

// String implements fmt.Stringer.
func (p place) String() string {
	text := "server " + p.Server + " (from " + p.From + "), namespace " + p.Namespace
	if p.Owner != "" {
		text += ", owner " + p.Owner
	}
	return text
}

func onlyFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "only", Hidden: true, Usage: "only job type `NAME`; may be given several times"}
}

func (c *commands) applyCommand() *cli.Command {
	return &cli.Command{
		Name: "apply", ArgsUsage: "[NAME...]", Usage: "make the server match the configuration",
		Description: `Creates and updates the Schedules that Roundsman owns; groups that run continue. Applying twice changes
nothing the second time. A job type that a person paused stays paused.

Job types that the configuration lacks are listed, and deleted after a question on a terminal, elsewhere
only with --prune; else the exit code is 2. Of several configurations in one namespace give each
its owner: NAME, so that none deletes the job types of another. --allow-unregistered accepts handlers that
no worker has registered.

Examples:
  roundsman apply --config roundsman.yaml
  roundsman apply --prune
  roundsman apply scrub
  roundsman plan || test $? -ne 2 || roundsman apply`,
		Flags: ui.With(
			&cli.BoolFlag{Name: "prune", Usage: "delete the job types that the configuration lacks, without a question"},
			onlyFlag(), ui.AllowUnregisteredFlag(true),
		),
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
	if !ui.WantsData(ctx) {
		c.Print("%s", placeOf(loaded))
	}
	plan, kept, err := c.prune(ctx, plan)
	if err != nil {
		return err
	}
	tell := func(jobtypes.Change, error) {}
	if !ui.WantsData(ctx) {
		c.Warn(loaded.Warnings)
		tell = c.tellChanges(len(plan.Changes))
	}
	result, err := jobtypes.Of(client).ApplyTelling(ctx.Context, plan, tell)
	var incomplete *jobtypes.ApplyError
	if err != nil && !errors.As(err, &incomplete) {
		return err
	}
	if ui.WantsData(ctx) {
		if printErr := c.Answer(ctx, struct {
			place
			jobtypes.ApplyResult
			Kept []jobtypes.Change `json:"kept,omitempty"`
		}{placeOf(loaded), result, kept}); printErr != nil {
			return printErr
		}
	} else {
		c.Print("%s applied, %d unchanged", ui.Plural(len(result.Applied), "change"), result.Unchanged)
		c.warnUnserved(ctx, client, plan)
	}
	if err == nil && len(kept) > 0 {
		return ui.Silent(ui.ExitDifference)
	}
	return err
}

// Without a control plane the workers are unknown, so warnUnserved prints nothing.
func (c *commands) warnUnserved(ctx *cli.Context, client *starter.Client, plan jobtypes.Plan) {
	unserved, err := jobtypes.Of(client).Unserved(ctx.Context, plan)
	if err != nil {
		client.Logger().Debug("job types without a worker are not known", "error", err.Error())
	}
	for _, known := range unserved {
		c.Complain("warning: %s: %s", known.Name, known.Missing)
	}
}

// On a terminal a counter stays below the lines.
func (c *commands) tellChanges(all int) func(jobtypes.Change, error) {
	const clearLine = "\r\x1b[K"
	done := 0
	return func(change jobtypes.Change, err error) {
		done++
		if c.Env.Terminal {
			fmt.Fprint(c.Env.Stdout, clearLine)
		}
		if err == nil && change.Action != jobtypes.ActionUnchanged {
			c.Print("%s", change)
		}
		if c.Env.Terminal && done < all {
			fmt.Fprintf(c.Env.Stdout, "%d of %d", done, all)
		}
	}
}

func (c *commands) prune(ctx *cli.Context, plan jobtypes.Plan) (agreed jobtypes.Plan, kept []jobtypes.Change, err error) {
	deletions := plan.Deletions()
	if len(deletions) == 0 || ctx.Bool("prune") {
		return plan, nil, nil
	}
	c.Complain("the configuration lacks %s of this namespace:", ui.Plural(len(deletions), "job type"))
	for _, change := range deletions {
		c.Complain("  %s", change)
	}
	if c.Env.Interactive && !ui.WantsData(ctx) {
		yes, err := c.Confirm(ctx.Context, "delete them?")
		if err != nil || yes {
			return plan, nil, err
		}
	} else {
		c.Complain("they are kept: --prune deletes them")
	}
	return plan.Keep(), deletions, nil
}

func (c *commands) planOf(ctx *cli.Context, client *starter.Client, loaded *config.Config) (jobtypes.Plan, error) {
	specs, err := loaded.Specs()
	if err != nil {
		return jobtypes.Plan{}, err
	}
	plan, err := jobtypes.Of(client).PlanAs(ctx.Context, loaded.Owner, specs, loaded.Enabled())
	if names := slices.Concat(ctx.StringSlice("only"), ctx.Args().Slice()); err == nil && len(names) > 0 {
		return plan.Only(names...)
	}
	return plan, err
}

// The configuration is read with the handlers of this binary and of the fleet. The caller closes the client.
func (c *commands) loadOnline(ctx *cli.Context) (*starter.Client, *config.Config, error) {
	loaded, err := c.Load(ctx, nil)
	var faults config.Faults
	if err != nil && !errors.As(err, &faults) {
		return nil, nil, err
	}
	if err != nil {
		// Other faults are reported first and alone. They need no server. Missing handlers need the fleet.
		if other := c.otherFaults(ctx); other != nil {
			return nil, nil, other
		}
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
	} else {
		err = unread(faults, fleetErr)
	}
	if err != nil {
		client.Close()
		return nil, nil, err
	}
	return client, loaded, nil
}

// unread replaces the faults of a configuration whose handlers only workers may have.
func unread(faults config.Faults, cause error) error {
	faults = slices.Clone(faults)
	for i := range faults {
		faults[i].Message = "this binary does not have the handler, and whether a worker has it is not known"
	}
	return errors.Join(fmt.Errorf("the handlers of workers could not be read (--allow-unregistered accepts all): %w", cause), ui.Faulty(faults))
}

// otherFaults are those of a configuration whose handlers all exist.
func (c *commands) otherFaults(ctx *cli.Context) error {
	options, err := c.LoadOptions()
	if err != nil {
		return err
	}
	options.AllowUnregistered = true
	options.Files = c.ConfigFiles(ctx)
	if _, err = config.Load(options); err != nil {
		return ui.Faulty(err)
	}
	return nil
}
