// Package access has the commands about the API and its users.
package access

import (
	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/app"
	"github.com/roundsman/roundsman/internal/cli/ui"
)

type commands struct{ *ui.Program }

// Commands are the commands of this package, in the order of the help.
func Commands(p *ui.Program) []*cli.Command {
	c := &commands{p}
	return []*cli.Command{c.apiCommand(), c.keysCommand()}
}

func (c *commands) apiCommand() *cli.Command {
	return &cli.Command{
		Name: "api", Hidden: true, Usage: "describe the REST API of the control plane",
		Subcommands: []*cli.Command{{
			Name: "openapi", Hidden: true, Usage: "print the OpenAPI document of the API, as YAML",
			Description: "Client generators read it. No server is needed.\n\nExamples:\n  roundsman api openapi > roundsman.yaml\n  roundsman api openapi --old > roundsman-3.0.yaml",
			Flags:       []cli.Flag{&cli.BoolFlag{Name: "old", Usage: "in OpenAPI 3.0, for generators without 3.1"}},
			Action: func(ctx *cli.Context) error {
				text, err := app.APIDocument(ctx.Bool("old"))
				if err != nil {
					return err
				}
				_, err = c.Env.Stdout.Write(text)
				return err
			},
		}},
	}
}
