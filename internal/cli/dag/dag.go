package dag

import (
	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/refs"
)

const dagRunArgument = "RUN is a workflow id as `roundsman runs` shows it (the dag/ may be left out), or the name of\n" +
	"a DAG, which means its newest run, or of a job type whose job is a DAG. SUB/TASK is a task of a sub-DAG."

const specArgument = "FILE is a spec in YAML or JSON (docs/spec/001-dag.md); - reads standard input."

func (c *commands) dagCommand() *cli.Command {
	return &cli.Command{
		Name: "dag", Usage: "run tasks that depend on each other: check, draw, run, retry",
		Subcommands: []*cli.Command{
			c.dagValidate(), c.dagRender(), c.dagRun(), c.dagRetry(), c.dagSkip(), c.dagApprove(), c.dagReject(), c.dagAddTasks(), c.dagRelease(),
		},
	}
}

func (c *commands) onRun(action func(*cli.Context, *starter.Client, starter.RunRef) error) cli.ActionFunc {
	return c.Connected(func(ctx *cli.Context, client *starter.Client) error {
		ref, err := refs.Of(client).DAG(ctx.Context, ctx.Args().First())
		if err != nil {
			return err
		}
		return action(ctx, client, ref)
	})
}
