package dag

import (
	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/runs"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

// commands gives every command what the program shares.
type commands struct{ *ui.Program }

// Commands are the commands of this package, in the order of the help.
func Commands(p *ui.Program) []*cli.Command {
	c := &commands{p}
	return []*cli.Command{c.dagCommand()}
}

// Runs does what differs for the runs of DAGs, for the commands about all runs.
func Runs(p *ui.Program) runs.DAGs {
	c := &commands{p}
	return runs.DAGs{
		ShowFlags: showFlags, CheckShow: checkShow, Show: c.showDAG, Cancel: c.cancelDAG,
		Watch: func(ctx *cli.Context, client *starter.Client, ref starter.RunRef, lines bool) error {
			return c.watchDAG(ctx, client.DAGs(), ref, lines)
		},
	}
}
