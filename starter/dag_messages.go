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
func (c *Client) RetryTasks(ctx context.Context, ref RunRef, tasks []string, by string) (contract.DAGChanged, error) {
	return c.changeDAG(ctx, ref, contract.UpdateRetryTasks, contract.RetryTasksInput{Tasks: tasks, By: by})
}

// SkipTask makes a task that does not run count as done.
func (c *Client) SkipTask(ctx context.Context, ref RunRef, task, by, reason string) (contract.DAGChanged, error) {
	return c.changeDAG(ctx, ref, contract.UpdateSkipTask, contract.TaskInput{Task: task, By: by, Reason: reason})
}

// RerunTask executes a task that has ended, and everything after it, again.
func (c *Client) RerunTask(ctx context.Context, ref RunRef, task, by string) (contract.DAGChanged, error) {
	return c.changeDAG(ctx, ref, contract.UpdateRerunTask, contract.TaskInput{Task: task, By: by})
}

// CancelTask cancels one task; a running one is waited for by the run.
func (c *Client) CancelTask(ctx context.Context, ref RunRef, task, by, reason string) (contract.DAGChanged, error) {
	return c.changeDAG(ctx, ref, contract.UpdateCancelTask, contract.TaskInput{Task: task, By: by, Reason: reason})
}

// ApproveTask lets a task go on that waits for an approval.
func (c *Client) ApproveTask(ctx context.Context, ref RunRef, task, by, note string) (contract.DAGChanged, error) {
	return c.changeDAG(ctx, ref, contract.UpdateApprove, contract.DecideTaskInput{Task: task, By: by, Note: note})
}

// RejectTask fails a task that waits for an approval.
func (c *Client) RejectTask(ctx context.Context, ref RunRef, task, by, note string) (contract.DAGChanged, error) {
	return c.changeDAG(ctx, ref, contract.UpdateReject, contract.DecideTaskInput{Task: task, By: by, Note: note})
}

// AddTasks inserts tasks into an open run: a list like `tasks` of a spec, in YAML
// or JSON, with `before` beside `needs`. Faults name the line in file.
func (c *Client) AddTasks(ctx context.Context, ref RunRef, file string, text []byte, by string) (contract.DAGChanged, error) {
	return c.changeDAG(ctx, ref, contract.UpdateAddTasks, contract.AddTasksInput{Text: string(text), File: file, By: by})
}

// SetDAGConcurrency changes how many tasks of an open run are in flight.
func (c *Client) SetDAGConcurrency(ctx context.Context, ref RunRef, concurrency int) (contract.DAGChanged, error) {
	return c.changeDAG(ctx, ref, contract.UpdateSetConcurrency, contract.SetConcurrencyInput{Concurrency: concurrency})
}

// ReleaseDAG ends a run that is held after a failure.
func (c *Client) ReleaseDAG(ctx context.Context, ref RunRef, by string) (contract.DAGChanged, error) {
	return c.changeDAG(ctx, ref, contract.UpdateRelease, contract.TaskInput{By: by})
}

// PauseDAG keeps tasks from starting until ResumeDAG; what runs goes on, and the
// deadline too.
func (c *Client) PauseDAG(ctx context.Context, ref RunRef, note string) error {
	return c.signalDAG(ctx, ref, contract.SignalPause, contract.PauseInput{Note: note, By: c.operator.actor})
}

// ResumeDAG ends a pause.
func (c *Client) ResumeDAG(ctx context.Context, ref RunRef) error {
	return c.signalDAG(ctx, ref, contract.SignalResume, nil)
}

// CancelDAG asks a run to end: running tasks are canceled and awaited, pending
// ones never start, tasks with the rule always still run. A second one cancels
// those too. It returns when the server has taken the request.
func (c *Client) CancelDAG(ctx context.Context, ref RunRef, reason string) error {
	if reason == "" {
		reason = "canceled by an operator"
	}
	return c.signalDAG(ctx, ref, contract.SignalCancelDAG, contract.CancelDAGInput{Reason: reason})
}

// signalDAG tells a closed run from a missing one, which the server does not.
func (c *Client) signalDAG(ctx context.Context, ref RunRef, name string, argument any) error {
	run, err := c.describeDAG(ctx, ref)
	if err != nil {
		return err
	}
	if !run.Open() {
		return fmt.Errorf("DAG run %s has %w (%s)", ref.WorkflowID, ErrAlreadyEnded, strings.ToLower(string(run.Status)))
	}
	// Without the run id, so that the message follows a continue-as-new.
	return endedMeanwhile(ref, c.temporal.SignalWorkflow(ctx, ref.WorkflowID, "", name, argument))
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

func (c *Client) changeDAG(ctx context.Context, ref RunRef, name string, argument any) (contract.DAGChanged, error) {
	var changed contract.DAGChanged
	run, err := c.describeDAG(ctx, ref)
	if err != nil {
		return changed, err
	}
	if !run.Open() {
		return changed, fmt.Errorf("DAG run %s has %w (%s): resume it with `roundsman dag retry %s`",
			ref.WorkflowID, ErrAlreadyEnded, strings.ToLower(string(run.Status)), ref.WorkflowID)
	}
	// Without the run id, as above.
	err = c.update(ctx, RunRef{WorkflowID: ref.WorkflowID}, name, &changed, argument)
	if errors.Is(err, ErrNotFound) {
		err = endedMeanwhile(ref, err)
	}
	return changed, err
}
