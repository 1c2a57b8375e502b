package runs

import (
	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

// commands gives every command what the program shares.
type commands struct {
	*ui.Program

	dags DAGs
}

// DAGs does what differs for the runs of DAGs.
type DAGs struct {
	ShowFlags func() []cli.Flag
	CheckShow cli.BeforeFunc
	// Show, Watch and Cancel carry out the command of that name. With lines, Watch
	// prints no live view: others write to the terminal too.
	Show, Cancel func(*cli.Context, *starter.Client, starter.RunRef) error
	Watch        func(ctx *cli.Context, client *starter.Client, ref starter.RunRef, lines bool) error
}

// Commands are the commands of this package, in the order of the help.
func Commands(p *ui.Program, dags DAGs) []*cli.Command {
	c := &commands{p, dags}
	return []*cli.Command{c.runsCommand(), c.jobsCommand()}
}
