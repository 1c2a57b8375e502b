package dag

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

const dagRunArgument = "RUN is a workflow id as `roundsman runs list` shows it (the dag/ may be left out), or the name of\n" +
	"a DAG, which means its newest run."

const specArgument = "FILE is a spec in YAML or JSON (docs/spec/001-dag.md); - reads standard input."

// dagCommand is everything about DAGs.
func (c *commands) dagCommand() *cli.Command {
	return &cli.Command{
		Name: "dag", Usage: "run tasks that depend on each other: check, draw, run, retry",
		Subcommands: append([]*cli.Command{
			c.dagValidate(), c.dagRender(), c.dagRun(), c.dagRetry(), c.dagSkip(), c.dagApprove(), c.dagReject(), c.dagAddTasks(), c.dagRelease(),
		}, hidden(c.dagList(), c.dagShow(), c.dagWatch(), c.dagCancel(), c.dagPause(), c.dagResume(), c.dagSet())...),
	}
}

// hidden are the former names of commands that `runs` has for both kinds of runs.
func hidden(all ...*cli.Command) []*cli.Command {
	for _, command := range all {
		command.Hidden = true
	}
	return all
}

// onRun is an action about one run, which is the command's first argument.
func (c *commands) onRun(action func(*cli.Context, *starter.Client, starter.RunRef) error) cli.ActionFunc {
	return c.Connected(func(ctx *cli.Context, client *starter.Client) error {
		ref, err := client.DAGs().Resolve(ctx.Context, ctx.Args().First())
		if err != nil {
			return err
		}
		return action(ctx, client, ref)
	})
}

// taskLister is the part of the client that lists the tasks of a run.
type taskLister interface {
	Tasks(ctx context.Context, ref starter.RunRef, filter contract.TasksQueryInput) (contract.TasksQueryResult, error)
}

// taskPage is how many tasks one query carries at most.
const taskPage = 5000

// allTasks lists the tasks of a run that filter leaves, at most limit.
func allTasks(ctx context.Context, client taskLister, ref starter.RunRef, filter contract.TasksQueryInput, limit int) (tasks []contract.TaskView, total int, err error) {
	for {
		filter.Offset, filter.Limit = len(tasks), min(limit-len(tasks), taskPage)
		page, err := client.Tasks(ctx, ref, filter)
		if err != nil {
			return nil, 0, err
		}
		tasks, total = append(tasks, page.Tasks...), page.Total
		if len(page.Tasks) == 0 || len(tasks) >= min(total, limit) {
			return tasks, total, nil
		}
	}
}
