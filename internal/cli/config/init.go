package config

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
)

//go:embed templates/roundsman.yaml
var configurationTemplate string

//go:embed templates/dag.yaml
var dagTemplate string

func (c *commands) initCommand() *cli.Command {
	return &cli.Command{
		Name: "init", ArgsUsage: "[FILE]", Usage: "write a commented configuration or DAG",
		Description: `FILE is roundsman.yaml unless another name is given. A file that exists is never overwritten.

Examples:
  roundsman init
  roundsman init --dag rollout.yaml`,
		Flags: []cli.Flag{&cli.StringFlag{Name: "dag", Usage: "write a DAG instead, into `FILE`"}, ui.OutputFlag()},
		Action: func(ctx *cli.Context) error {
			if ctx.Args().Len() > 1 {
				return ui.Usagef("give one FILE: see %s --help", ctx.Command.HelpName)
			}
			path, text, next := cmp.Or(ctx.Args().First(), "roundsman.yaml"), configurationTemplate, "roundsman validate --config %s; roundsman dev --config %[1]s"
			if graph := ctx.String("dag"); graph != "" {
				path, text, next = graph, dagTemplate, "roundsman validate %s; roundsman start %[1]s --dev"
			}
			if err := writeNew(path, text); err != nil {
				return err
			}
			return c.Done(ctx, map[string]string{"file": path}, "wrote %s; next: %s", path, c.Env.Own.Text(fmt.Sprintf(next, path)))
		},
	}
}

func writeNew(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // a file to share
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists and is left as it is: give another FILE", path)
	}
	if err != nil {
		return fmt.Errorf("init: %w", err)
	}
	if _, err := file.WriteString(text); err != nil {
		return errors.Join(fmt.Errorf("init: %w", err), file.Close())
	}
	return file.Close()
}
