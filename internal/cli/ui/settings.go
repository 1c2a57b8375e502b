package ui

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/jobtype"
)

// FlagAllowUnregistered accepts handlers that nothing describes.
const FlagAllowUnregistered = "allow-unregistered"

// AllowUnregisteredFlag is --allow-unregistered.
func AllowUnregisteredFlag(hidden bool) cli.Flag {
	return &cli.BoolFlag{Name: FlagAllowUnregistered, Hidden: hidden, Usage: "accept handlers that neither this binary nor a registered worker has"}
}

// Load reads the configuration. known are handlers in other binaries.
func (c *Program) Load(ctx *cli.Context, known []jobtype.Descriptor) (*config.Config, error) {
	options, err := c.LoadOptions()
	if err != nil {
		return nil, err
	}
	for _, descriptor := range known {
		if !Describes(options.Handlers, descriptor.Name) {
			options.Handlers = append(options.Handlers, descriptor)
		}
	}
	options.AllowUnregistered = ctx.Bool(FlagAllowUnregistered)
	options.Files = c.ConfigFiles(ctx)
	if len(options.Files) == 0 {
		return nil, Usagef("no configuration: name one with --config FILE, or write %s in this directory", config.DefaultFile)
	}
	loaded, err := config.Load(options)
	if err != nil {
		return nil, Faulty(err)
	}
	loaded.Temporal = WithFlags(ctx, loaded.Temporal)
	return loaded, nil
}

// Describes reports whether a handler of this name is among descriptors.
func Describes(descriptors []jobtype.Descriptor, name string) bool {
	return slices.ContainsFunc(descriptors, func(descriptor jobtype.Descriptor) bool { return descriptor.Name == name })
}

// Warn prints the warnings of a configuration.
func (c *Program) Warn(warnings config.Faults) {
	for _, warning := range warnings {
		c.Complain("warning: %s", warning)
	}
}
