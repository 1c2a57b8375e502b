package dag

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/cli/progress"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/refs"
)

// onTask acts on one task. It may be a task of a sub-DAG.
func onTask(p *ui.Program, ctx *cli.Context, client *starter.Client, task starter.ItemRef, done string, act func(starter.ItemRef) (contract.DAGChanged, error)) error {
	run, err := refs.Of(client).DAG(ctx.Context, task.Run.WorkflowID)
	if err != nil {
		return err
	}
	located, err := client.Runs().Locate(ctx.Context, starter.ItemRef{Run: run, ID: task.ID})
	if err != nil {
		return err
	}
	result, err := act(located)
	if err != nil {
		return err
	}
	result.Tasks = []string{task.ID}
	return changed(p, ctx, located.Run, result, "%s %s", done, task.ID)
}

// Skip lets a task count as done without running it. It has not started, failed or was blocked.
func Skip(p *ui.Program, ctx *cli.Context, client *starter.Client, task starter.ItemRef) error {
	return onTask(p, ctx, client, task, "skipped", func(task starter.ItemRef) (contract.DAGChanged, error) {
		return client.DAGs().SkipTask(ctx.Context, task.Run, task.ID, p.Operator(), ctx.String(ui.FlagReason))
	})
}

// Approve lets a task continue that waits for a person.
func Approve(p *ui.Program, ctx *cli.Context, client *starter.Client, task starter.ItemRef) error {
	return onTask(p, ctx, client, task, "approved", func(task starter.ItemRef) (contract.DAGChanged, error) {
		return client.DAGs().ApproveTask(ctx.Context, task.Run, task.ID, p.Operator(), ctx.String(ui.FlagReason))
	})
}

// Reject fails a task that waits for a person.
func Reject(p *ui.Program, ctx *cli.Context, client *starter.Client, task starter.ItemRef) error {
	return onTask(p, ctx, client, task, "rejected", func(task starter.ItemRef) (contract.DAGChanged, error) {
		return client.DAGs().RejectTask(ctx.Context, task.Run, task.ID, p.Operator(), ctx.String(ui.FlagReason))
	})
}

// inTurn acts on several tasks. Its error lists the tasks done before it.
func inTurn(tasks []string, done string, act func(string) (contract.DAGChanged, error)) (changed contract.DAGChanged, err error) {
	for i, task := range tasks {
		if changed, err = act(task); err != nil {
			if i > 0 {
				err = fmt.Errorf("%s %s, but then: %w", done, strings.Join(tasks[:i], ", "), err)
			}
			return changed, err
		}
	}
	return changed, nil
}

func changed(p *ui.Program, ctx *cli.Context, ref starter.RunRef, changed contract.DAGChanged, format string, args ...any) error {
	value := map[string]any{"workflow_id": ref.WorkflowID, "counts": changed.Counts, "tasks": lists.OrEmpty(changed.Tasks)}
	if len(changed.Redefined) > 0 {
		value["redefined"] = changed.Redefined
	}
	if len(changed.Limits) > 0 {
		value["limits"] = changed.Limits
	}
	line := fmt.Sprintf(format, args...) + ": " + ref.WorkflowID
	if counts := progress.States(changed.Counts); counts != "" {
		line += " now has " + counts
	}
	return p.Done(ctx, value, "%s", line)
}

// AddTasks adds the tasks in a file to an open run, or redefines some that have not started. A task may have before, next
// to needs: existing tasks, not yet started, that shall wait for it.
func AddTasks(p *ui.Program, ctx *cli.Context, client *starter.Client, run starter.RunRef, file string) error {
	tasks, err := p.ReadSpec(file)
	if err != nil {
		return err
	}
	if file == ui.StdinName {
		file = ui.StdinFile
	}
	if err := spec.CheckAdded(file, tasks); err != nil {
		return ui.Faulty(err)
	}
	if run, err = refs.Of(client).DAG(ctx.Context, run.WorkflowID); err != nil {
		return err
	}
	added, err := client.DAGs().AddTasks(ctx.Context, run, file, tasks, p.Operator())
	if err != nil {
		return err
	}
	return changed(p, ctx, run, added, "%s", addedText(added))
}

func addedText(changed contract.DAGChanged) string {
	added, redefined := ui.Plural(len(changed.Tasks), "task"), ui.Plural(len(changed.Redefined), "task")
	var done []string
	if len(changed.Tasks) > 0 {
		done = append(done, "added "+added)
	}
	if len(changed.Redefined) > 0 {
		done = append(done, "redefined "+redefined)
	}
	for _, name := range ui.SortedKeys(changed.Limits) {
		done = append(done, fmt.Sprintf("set %s to %d", name, changed.Limits[name]))
	}
	if len(done) == 0 {
		return "changed nothing, the tasks are defined like that already"
	}
	return strings.Join(done, ", ")
}

// Release lets a run end that is held after a failure (hold_on_failure).
func Release(p *ui.Program, ctx *cli.Context, client *starter.Client, run starter.RunRef) error {
	run, err := refs.Of(client).DAG(ctx.Context, run.WorkflowID)
	if err != nil {
		return err
	}
	released, err := client.DAGs().Release(ctx.Context, run, p.Operator())
	if err != nil {
		return err
	}
	return changed(p, ctx, run, released, "released")
}
