package ui

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/internal/app"
	"github.com/roundsman/roundsman/starter"
)

// ConfigFiles are those of the command line; see [config.Locate].
func (c *Program) ConfigFiles(ctx *cli.Context) []string {
	return config.Locate(ctx.StringSlice(FlagConfig), c.Env.Environ)
}

// Temporal returns the connection settings: flags, then the environment, the configuration, a profile of the Temporal
// CLI, the defaults. A fault in another section is a warning; one that hides the address, too, if flag or environment
// name the server.
func (c *Program) Temporal(ctx *cli.Context) (config.Temporal, error) {
	loaded, err := c.Settings(ctx)
	faults, faulty := errors.AsType[config.Faults](err)
	if !faulty {
		if err != nil {
			return config.Temporal{}, err
		}
		return loaded.Temporal, nil
	}
	only := func(options *config.Options) { options.OnlyTemporal = true }
	found, err := c.load(ctx, c.ConfigFiles(ctx), only)
	if err != nil && (ctx.String(FlagAddress) != "" || c.Env.getenv("TEMPORAL_ADDRESS") != "") {
		found, err = c.load(ctx, nil, only)
	}
	if err != nil {
		return config.Temporal{}, Faulty(faults)
	}
	c.Complain("warning: %s", faults[0])
	c.Complain("warning: of the configuration only temporal: is used here; see `roundsman validate`")
	return found.Temporal, nil
}

// Settings are the sections of the configuration for all commands: a fault in a job type does not matter here.
func (c *Program) Settings(ctx *cli.Context) (*config.Config, error) {
	return c.settings(ctx, true)
}

// WholeSettings are Settings with the job types.
func (c *Program) WholeSettings(ctx *cli.Context) (*config.Config, error) {
	return c.settings(ctx, false)
}

func (c *Program) settings(ctx *cli.Context, withoutJobTypes bool) (*config.Config, error) {
	return c.load(ctx, c.ConfigFiles(ctx), func(options *config.Options) { options.WithoutJobTypes = withoutJobTypes })
}

func (c *Program) load(ctx *cli.Context, files []string, change func(*config.Options)) (*config.Config, error) {
	options, err := c.LoadOptions()
	if err != nil {
		return nil, err
	}
	options.AllowUnregistered, options.Files = true, files
	change(&options)
	if len(options.Files) == 0 {
		options.Sources = []config.Source{{Name: "built-in", Data: []byte("version: 1\njob_types: {}\n")}}
	}
	loaded, err := config.Load(options)
	if err != nil {
		return nil, Faulty(err)
	}
	loaded.Temporal = WithFlags(ctx, loaded.Temporal)
	return loaded, nil
}

// WithFlags lays the flags over settings.
func WithFlags(ctx *cli.Context, settings config.Temporal) config.Temporal {
	if address := ctx.String(FlagAddress); address != "" {
		settings.Address, settings.Source = address, "--"+FlagAddress
	}
	if namespace := ctx.String(FlagNamespace); namespace != "" {
		settings.Namespace = namespace
	}
	return settings
}

// LoadOptions are the options of each load of a configuration.
func (c *Program) LoadOptions() (config.Options, error) {
	profile, err := app.Profile(c.Env.Environ)
	if err != nil {
		return config.Options{}, Faulty(err)
	}
	descriptors, validators, err := app.Descriptors(c.Handlers)
	if err != nil {
		return config.Options{}, err
	}
	return config.Options{Environ: c.Env.Environ, Temporal: profile, Handlers: descriptors, Validators: validators}, nil
}

// Connect dials the server of the command. The caller closes the client.
func (c *Program) Connect(ctx *cli.Context) (*starter.Client, error) {
	settings, err := c.Temporal(ctx)
	if err != nil {
		return nil, err
	}
	client, err := c.Dial(ctx.Context, settings)
	if err != nil {
		return nil, err
	}
	return client.As(c.Operator(), func(err error) { c.Complain("roundsman: %v", err) }), nil
}

// AskWithin is the default of [Env.AskWithin].
const AskWithin = 3 * time.Second

// Dial connects as the operator to the server that settings name.
func (c *Program) Dial(ctx context.Context, settings config.Temporal) (*starter.Client, error) {
	options, err := app.ClientOptions(settings)
	if err != nil {
		return nil, Faulty(err)
	}
	options.Identity, options.AskWithin = starter.OperatorIdentity(ProgramName, c.Operator()), cmp.Or(c.Env.AskWithin, AskWithin)
	return starter.Dial(ctx, options)
}

// ConnectServing connects a serving command. served, if not nil, observes the connection.
func (c *Program) ConnectServing(ctx *cli.Context, log *slog.Logger, served *app.HTTP) (Serving, error) {
	loaded, err := c.Settings(ctx)
	if err != nil {
		return Serving{}, err
	}
	options, err := app.ClientOptions(loaded.Temporal)
	if err != nil {
		return Serving{}, Faulty(err)
	}
	options.Logger, options.HeartbeatInterval = log, loaded.Fleet.HeartbeatInterval.Std()
	health, err := app.NewHealth(ctx.String(FlagHealthAddr), options.HeartbeatInterval)
	if err != nil {
		return Serving{}, Faulty(err)
	}
	health.Watch(&options)
	served.Watch(&options)
	if err := app.WatchRuns(&options, health, log); err != nil {
		return Serving{}, err
	}
	client, err := app.Dial(ctx.Context, options, log)
	return Serving{Client: client, Settings: loaded, Health: health}, err
}

// Serving is the connection of a serving command. Its caller closes the client.
type Serving struct {
	Client   *starter.Client
	Settings *config.Config
	Health   *app.Health
}

// Connected wraps an action that needs a client.
func (c *Program) Connected(action func(*cli.Context, *starter.Client) error) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		client, err := c.Connect(ctx)
		if err != nil {
			return err
		}
		defer client.Close()
		if err := action(ctx, client); err != nil {
			return c.suggest(ctx.Context, client, err)
		}
		return nil
	}
}

// Recalling wraps an action that only reads: without a control plane it uses the histories of open runs.
func Recalling(action cli.ActionFunc) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		ctx.Context = starter.WithMemory(ctx.Context)
		return action(ctx)
	}
}

// Named is [Program.Connected] for an action on the one name that is the command's argument.
func (c *Program) Named(action func(ctx *cli.Context, client *starter.Client, name string) error) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		name, err := OneName(ctx)
		if err != nil {
			return err
		}
		return c.Connected(func(ctx *cli.Context, client *starter.Client) error { return action(ctx, client, name) })(ctx)
	}
}
