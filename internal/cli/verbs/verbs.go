package verbs

import (
	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/dag"
	"github.com/roundsman/roundsman/internal/cli/ui"
)

type commands struct{ *ui.Program }

// Commands are the verbs, which act on several kinds of things.
func Commands(p *ui.Program) []*cli.Command {
	c := &commands{p}
	return []*cli.Command{
		c.show(), c.start(), c.retry(), c.cancel(), c.pause(), c.resume(),
		c.decide("approve", "let a task continue that waits for a person", "window agreed with the owners", dag.Approve),
		c.decide("reject", "fail a task that waits for a person", "not before the backup", dag.Reject),
		c.skip(), c.set(), c.remove(),
	}
}
