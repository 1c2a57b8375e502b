package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/internal/app"
	"github.com/roundsman/roundsman/starter"
)

// defaultConfig is read by the commands about configuration when none is named.
const defaultConfig = "roundsman.yaml"

// configFiles are the files named by --config or ROUNDSMAN_CONFIG, which
// separates several as PATH does.
func (c *commands) configFiles(ctx *cli.Context) []string {
	if files := ctx.StringSlice(flagConfig); len(files) > 0 {
		return files
	}
	if listed := c.env.getenv("ROUNDSMAN_CONFIG"); listed != "" {
		return strings.Split(listed, string(os.PathListSeparator))
	}
	return nil
}

// temporal finds out which server to talk to: flags, then the environment, then
// the configuration, then a profile of the Temporal CLI, then the defaults.
func (c *commands) temporal(ctx *cli.Context) (config.Temporal, error) {
	loaded, err := c.settings(ctx)
	if err != nil {
		return config.Temporal{}, err
	}
	return loaded.Temporal, nil
}

// settings are those of the configuration's sections that matter to commands
// which are not about job types: temporal and fleet.
func (c *commands) settings(ctx *cli.Context) (*config.Config, error) {
	options, err := c.loadOptions()
	if err != nil {
		return nil, err
	}
	// Only the connection is wanted here: what else the file says is for `apply`.
	options.AllowUnregistered = true
	options.Files = c.configFiles(ctx)
	if len(options.Files) == 0 {
		options.Sources = []config.Source{{Name: "built-in", Data: []byte("version: 1\njob_types: {}\n")}}
	}
	loaded, err := config.Load(options)
	if err != nil {
		return nil, faulty(err)
	}
	loaded.Temporal = withFlags(ctx, loaded.Temporal)
	return loaded, nil
}

// withFlags lays the flags over settings.
func withFlags(ctx *cli.Context, settings config.Temporal) config.Temporal {
	if address := ctx.String(flagAddress); address != "" {
		settings.Address = address
	}
	if namespace := ctx.String(flagNamespace); namespace != "" {
		settings.Namespace = namespace
	}
	return settings
}

// loadOptions are what every loading of a configuration shares.
func (c *commands) loadOptions() (config.Options, error) {
	profile, err := app.Profile(c.env.Environ)
	if err != nil {
		return config.Options{}, faulty(err)
	}
	descriptors, validators, err := app.Descriptors(c.handlers)
	if err != nil {
		return config.Options{}, err
	}
	return config.Options{Environ: c.env.Environ, Temporal: profile, Handlers: descriptors, Validators: validators}, nil
}

// connect dials the server that the command is about. The caller closes the
// client.
func (c *commands) connect(ctx *cli.Context) (*starter.Client, error) {
	settings, err := c.temporal(ctx)
	if err != nil {
		return nil, err
	}
	client, err := c.dial(ctx.Context, settings)
	if err != nil {
		return nil, err
	}
	return client.As(c.operator(), func(err error) { fmt.Fprintf(c.env.Stderr, "roundsman: %v\n", err) }), nil
}

func (c *commands) dial(ctx context.Context, settings config.Temporal) (*starter.Client, error) {
	options, err := app.ClientOptions(settings)
	if err != nil {
		return nil, faulty(err)
	}
	options.Identity = starter.OperatorIdentity(program, c.operator())
	return starter.Dial(ctx, options)
}

// connectServing is connect for the commands that serve: the SDK's own messages
// go to their log, and their workers beat as often as the fleet expects.
func (c *commands) connectServing(ctx *cli.Context, log *slog.Logger) (serving, error) {
	loaded, err := c.settings(ctx)
	if err != nil {
		return serving{}, err
	}
	options, err := app.ClientOptions(loaded.Temporal)
	if err != nil {
		return serving{}, faulty(err)
	}
	options.Logger, options.HeartbeatInterval = log, loaded.Fleet.HeartbeatInterval.Std()
	health, err := app.NewHealth(ctx.String(flagHealthAddr), options.HeartbeatInterval)
	if err != nil {
		return serving{}, faulty(err)
	}
	health.Watch(&options)
	client, err := starter.Dial(ctx.Context, options)
	return serving{client: client, settings: loaded, health: health}, err
}

// serving is what a command that serves works with. Its caller closes the
// client.
type serving struct {
	client   *starter.Client
	settings *config.Config
	health   *app.Health
}

// connected wraps an action that needs a client.
func (c *commands) connected(action func(*cli.Context, *starter.Client) error) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		client, err := c.connect(ctx)
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
