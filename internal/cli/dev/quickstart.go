package dev

import (
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/examples/quickstart"
)

// quickstartName stands for the file in faults.
const quickstartName = "quickstart"

// devConfig returns the named configuration, that of this directory, or the quickstart with its files.
func (c *commands) devConfig(ctx *cli.Context, dataDir string) (*config.Config, error) {
	if len(c.ConfigFiles(ctx)) > 0 {
		return c.Load(ctx, nil)
	}
	logs := filepath.Join(dataDir, "quickstart", "logs")
	if err := quickstart.Prepare(logs); err != nil {
		return nil, err
	}
	text := quickstart.Config
	// The file's own path is shorter to read, so it stays if it is right.
	if usual, err := filepath.Abs(quickstart.LogDir); err != nil || usual != logs {
		if text, err = quickstart.ConfigFor(logs); err != nil {
			return nil, err
		}
	}
	options, err := c.LoadOptions()
	if err != nil {
		return nil, err
	}
	options.Sources = []config.Source{{Name: quickstartName, Data: text}}
	loaded, err := config.Load(options)
	if err != nil {
		return nil, fmt.Errorf("the quickstart is broken: %w", err)
	}
	return loaded, nil
}
