package starter

import (
	"context"
	"errors"
	"fmt"

	"github.com/roundsman/roundsman/contract"
)

// Messages to an open DAG run. A refusal is returned as the error, and nothing was changed.

// RetryTasks retries failed or canceled tasks of an open run and the tasks that they blocked; no names mean all. For
// a closed run use [DAGs.Retry].
func (d DAGs) RetryTasks(ctx context.Context, ref RunRef, tasks []string, by string) (contract.DAGChanged, error) {
	return d.change(ctx, ref, contract.UpdateRetryTasks, contract.RetryTasksInput{Tasks: tasks, By: by})
}

// SkipTask marks a task that is not running as done.
func (d DAGs) SkipTask(ctx context.Context, ref RunRef, task, by, reason string) (contract.DAGChanged, error) {
	return d.change(ctx, ref, contract.UpdateSkipTask, contract.TaskInput{Task: task, By: by, Reason: reason})
}

// RerunTask executes an ended task and all its dependants again.
func (d DAGs) RerunTask(ctx context.Context, ref RunRef, task, by string) (contract.DAGChanged, error) {
	return d.change(ctx, ref, contract.UpdateRerunTask, contract.TaskInput{Task: task, By: by})
}

// ApproveTask lets a task that waits for an approval continue.
func (d DAGs) ApproveTask(ctx context.Context, ref RunRef, task, by, note string) (contract.DAGChanged, error) {
	return d.change(ctx, ref, contract.UpdateApprove, contract.DecideTaskInput{Task: task, By: by, Note: note})
}

// RejectTask fails a task that waits for an approval.
func (d DAGs) RejectTask(ctx context.Context, ref RunRef, task, by, note string) (contract.DAGChanged, error) {
	return d.change(ctx, ref, contract.UpdateReject, contract.DecideTaskInput{Task: task, By: by, Note: note})
}

// AddTasks inserts tasks into an open run: a list like `tasks` of a spec, with `before` next to `needs`. Errors name
// the line in file.
func (d DAGs) AddTasks(ctx context.Context, ref RunRef, file string, text []byte, by string) (contract.DAGChanged, error) {
	return d.change(ctx, ref, contract.UpdateAddTasks, contract.AddTasksInput{Text: string(text), File: file, By: by})
}

// SetConcurrency changes the number of tasks of an open run in flight.
func (d DAGs) SetConcurrency(ctx context.Context, ref RunRef, concurrency int, by string) (contract.DAGChanged, error) {
	return d.change(ctx, ref, contract.UpdateSetConcurrency, contract.SetConcurrencyInput{Concurrency: concurrency, By: by})
}

// SetFanOut changes the number of tasks of one fan-out in flight.
func (d DAGs) SetFanOut(ctx context.Context, ref RunRef, fanOut string, concurrency int, by string) (contract.DAGChanged, error) {
	return d.change(ctx, ref, contract.UpdateSetConcurrency, contract.SetConcurrencyInput{Concurrency: concurrency, FanOut: fanOut, By: by})
}

// Release ends a run that is held after a failure.
func (d DAGs) Release(ctx context.Context, ref RunRef, by string) (contract.DAGChanged, error) {
	return d.change(ctx, ref, contract.UpdateRelease, contract.TaskInput{By: by})
}

// Why returns the waits of an open run, or of one of its tasks.
func (d DAGs) Why(ctx context.Context, ref RunRef, task string) (contract.ExplainQueryResult, error) {
	// Without the run id, so that the query follows a continue-as-new.
	return query[contract.ExplainQueryResult](ctx, d.client, RunRef{WorkflowID: ref.WorkflowID}, contract.QueryExplain, contract.ExplainQueryInput{Task: task})
}

func (d DAGs) change(ctx context.Context, ref RunRef, name string, argument any) (contract.DAGChanged, error) {
	if ref.Kind() != KindDAG {
		return contract.DAGChanged{}, noDAGRun(ref)
	}
	if described, err := d.client.Runs().opened(ctx, ref, ""); err != nil {
		if errors.Is(err, ErrAlreadyEnded) && described.Outcome != contract.OutcomeCompleted {
			err = fmt.Errorf("%w: resume it with `roundsman retry %s`", err, ref.WorkflowID)
		}
		return contract.DAGChanged{}, err
	}
	return updateRun[contract.DAGChanged](ctx, d.client, ref, name, argument)
}

func noDAGRun(ref RunRef) error {
	return fmt.Errorf("run %s is not a DAG run: see `roundsman runs`", ref.WorkflowID)
}
