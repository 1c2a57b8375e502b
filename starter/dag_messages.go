package starter

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/api/serviceerror"

	"github.com/roundsman/roundsman/contract"
)

// The messages to an open DAG run. What the run refuses comes back as the
// error, with the reason; nothing was changed then.

// RetryTasks tries failed or canceled tasks of an open run again, with what they
// blocked; no tasks means all of them. For a run that has ended use RetryDAG.
func (d DAGs) RetryTasks(ctx context.Context, ref RunRef, tasks []string, by string) (contract.DAGChanged, error) {
	return d.change(ctx, ref, contract.UpdateRetryTasks, contract.RetryTasksInput{Tasks: tasks, By: by})
}

// SkipTask makes a task that does not run count as done.
func (d DAGs) SkipTask(ctx context.Context, ref RunRef, task, by, reason string) (contract.DAGChanged, error) {
	return d.change(ctx, ref, contract.UpdateSkipTask, contract.TaskInput{Task: task, By: by, Reason: reason})
}

// RerunTask executes a task that has ended, and everything after it, again.
func (d DAGs) RerunTask(ctx context.Context, ref RunRef, task, by string) (contract.DAGChanged, error) {
	return d.change(ctx, ref, contract.UpdateRerunTask, contract.TaskInput{Task: task, By: by})
}

// CancelTask cancels one task; a running one is waited for by the run.
func (d DAGs) CancelTask(ctx context.Context, ref RunRef, task, by, reason string) (contract.DAGChanged, error) {
	return d.change(ctx, ref, contract.UpdateCancelTask, contract.TaskInput{Task: task, By: by, Reason: reason})
}

// ApproveTask lets a task go on that waits for an approval.
func (d DAGs) ApproveTask(ctx context.Context, ref RunRef, task, by, note string) (contract.DAGChanged, error) {
	return d.change(ctx, ref, contract.UpdateApprove, contract.DecideTaskInput{Task: task, By: by, Note: note})
}

// RejectTask fails a task that waits for an approval.
func (d DAGs) RejectTask(ctx context.Context, ref RunRef, task, by, note string) (contract.DAGChanged, error) {
	return d.change(ctx, ref, contract.UpdateReject, contract.DecideTaskInput{Task: task, By: by, Note: note})
}

// AddTasks inserts tasks into an open run: a list like `tasks` of a spec, in YAML
// or JSON, with `before` beside `needs`. Faults name the line in file.
func (d DAGs) AddTasks(ctx context.Context, ref RunRef, file string, text []byte, by string) (contract.DAGChanged, error) {
	return d.change(ctx, ref, contract.UpdateAddTasks, contract.AddTasksInput{Text: string(text), File: file, By: by})
}

// SetConcurrency changes how many tasks of an open run are in flight.
func (d DAGs) SetConcurrency(ctx context.Context, ref RunRef, concurrency int) (contract.DAGChanged, error) {
	return d.change(ctx, ref, contract.UpdateSetConcurrency, contract.SetConcurrencyInput{Concurrency: concurrency})
}

// Release ends a run that is held after a failure.
func (d DAGs) Release(ctx context.Context, ref RunRef, by string) (contract.DAGChanged, error) {
	return d.change(ctx, ref, contract.UpdateRelease, contract.TaskInput{By: by})
}

// Pause keeps tasks from starting until ResumeDAG; what runs goes on, and the
// deadline too.
func (d DAGs) Pause(ctx context.Context, ref RunRef, note string) error {
	return d.signal(ctx, ref, contract.SignalPause, contract.PauseInput{Note: note, By: d.client.operator.actor})
}

// Resume ends a pause.
func (d DAGs) Resume(ctx context.Context, ref RunRef) error {
	return d.signal(ctx, ref, contract.SignalResume, nil)
}

// Cancel asks a run to end: running tasks are canceled and awaited, pending
// ones never start, tasks with the rule always still run. A second one cancels
// those too. It returns when the server has taken the request.
func (d DAGs) Cancel(ctx context.Context, ref RunRef, reason string) error {
	if reason == "" {
		reason = "canceled by an operator"
	}
	return d.signal(ctx, ref, contract.SignalCancelDAG, contract.CancelDAGInput{Reason: reason})
}

// signal tells a closed run from a missing one, which the server does not.
func (d DAGs) signal(ctx context.Context, ref RunRef, name string, argument any) error {
	run, err := d.describe(ctx, ref)
	if err != nil {
		return err
	}
	if !run.Open() {
		return fmt.Errorf("DAG run %s has %w (%s)", ref.WorkflowID, ErrAlreadyEnded, strings.ToLower(string(run.Status)))
	}
	// Without the run id, so that the message follows a continue-as-new.
	return endedMeanwhile(ref, d.client.temporal.SignalWorkflow(ctx, ref.WorkflowID, "", name, argument))
}

// endedMeanwhile words what the server says about a run that ended between two
// requests: it was there a moment ago.
func endedMeanwhile(ref RunRef, err error) error {
	var gone *serviceerror.NotFound
	switch {
	case err == nil:
		return nil
	case errors.As(err, &gone), errors.Is(err, ErrNotFound):
		return fmt.Errorf("DAG run %s has %w", ref.WorkflowID, ErrAlreadyEnded)
	}
	return fmt.Errorf("DAG run %s: %w", ref.WorkflowID, err)
}

func (d DAGs) change(ctx context.Context, ref RunRef, name string, argument any) (contract.DAGChanged, error) {
	var changed contract.DAGChanged
	run, err := d.describe(ctx, ref)
	if err != nil {
		return changed, err
	}
	if !run.Open() {
		return changed, fmt.Errorf("DAG run %s has %w (%s): resume it with `roundsman dag retry %s`",
			ref.WorkflowID, ErrAlreadyEnded, strings.ToLower(string(run.Status)), ref.WorkflowID)
	}
	// Without the run id, as above.
	err = d.client.update(ctx, RunRef{WorkflowID: ref.WorkflowID}, name, &changed, argument)
	if errors.Is(err, ErrNotFound) {
		err = endedMeanwhile(ref, err)
	}
	return changed, err
}
