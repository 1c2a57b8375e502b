package workers

import (
	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
)

type commands struct{ *ui.Program }

// Commands are the commands of this package, in the order of the help.
func Commands(p *ui.Program) []*cli.Command {
	c := &commands{p}
	return []*cli.Command{c.workers(), c.drain(), c.resources()}
}
