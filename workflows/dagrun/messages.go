package dagrun

import (
	"encoding/json"
	"errors"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
	"github.com/roundsman/roundsman/workflows/run"
)

// Update handlers never wait, so none is unfinished when the run ends or continues as new.
func (r *dagRun) listen() error {
	r.grants = workflow.GetSignalChannel(r.ctx, contract.SignalLaneGrant)
	return errors.Join(
		r.loop.Listen(),
		onUpdate(r, contract.UpdateRetryTasks, "Tries failed tasks again, with the tasks they blocked.", func(in contract.RetryTasksInput) dagrun.Request {
			return dagrun.Request{Kind: dagrun.Retry, Tasks: in.Tasks, By: in.By}
		}),
		onUpdate(r, contract.UpdateSkipTask, "Makes a task count as done.", taskRequest(dagrun.Skip)),
		onUpdate(r, contract.UpdateRerunTask, "Executes a task and its dependants again.", taskRequest(dagrun.Rerun)),
		onUpdate(r, contract.UpdateApprove, "Lets a task that waits for an approval continue.", decideRequest(dagrun.Approve)),
		onUpdate(r, contract.UpdateReject, "Fails a task that waits for an approval.", decideRequest(dagrun.Reject)),
		onUpdate(r, contract.UpdateAddTasks, "Inserts tasks, and redefines tasks that have not started.", func(in contract.AddTasksInput) dagrun.Request {
			request := dagrun.Request{Kind: dagrun.Add, Data: in.Tasks, File: in.File, By: in.By}
			if in.Text != "" {
				request.Data = []byte(in.Text)
			}
			return request
		}),
		onUpdate(r, contract.UpdateSetConcurrency, "Changes how many tasks run at once.", func(in contract.SetConcurrencyInput) dagrun.Request {
			return dagrun.Request{Kind: dagrun.SetConcurrency, Limit: in.Concurrency, FanOut: in.FanOut, By: in.By}
		}),
		onUpdate(r, contract.UpdateRelease, "Ends a held run.", func(in contract.TaskInput) dagrun.Request {
			return dagrun.Request{Kind: dagrun.Release, By: in.By}
		}),
		workflow.SetQueryHandlerWithOptions(r.ctx, contract.QueryStatus, r.status,
			workflow.QueryHandlerOptions{Description: "State of the run: phase, counts, approvals, failed tasks, workers, waits."}),
		workflow.SetQueryHandlerWithOptions(r.ctx, contract.QueryTasks, r.tasks,
			workflow.QueryHandlerOptions{Description: "The tasks of the run, filtered and paged."}),
		workflow.SetQueryHandlerWithOptions(r.ctx, contract.QueryExplain, r.explain,
			workflow.QueryHandlerOptions{Description: "Waits of the run, or of one task, by the codes of docs/explain.md."}),
		workflow.SetQueryHandlerWithOptions(r.ctx, contract.QueryFinal, r.final,
			workflow.QueryHandlerOptions{Description: "The state of the run as bytes, for resuming it."}),
	)
}

func taskRequest(kind dagrun.RequestKind) func(contract.TaskInput) dagrun.Request {
	return func(in contract.TaskInput) dagrun.Request {
		return dagrun.Request{Kind: kind, Tasks: []string{in.Task}, By: in.By, Note: in.Reason}
	}
}

func decideRequest(kind dagrun.RequestKind) func(contract.DecideTaskInput) dagrun.Request {
	return func(in contract.DecideTaskInput) dagrun.Request {
		return dagrun.Request{Kind: kind, Tasks: []string{in.Task}, By: in.By, Note: in.Note}
	}
}

func onUpdate[T any](r *dagRun, name, description string, request func(T) dagrun.Request) error {
	return workflow.SetUpdateHandlerWithOptions(r.ctx, name, func(ctx workflow.Context, in T) (contract.DAGChanged, error) {
		return r.operate(ctx, name, request(in))
	}, workflow.UpdateHandlerOptions{
		Description: description,
		Validator: func(_ workflow.Context, in T) error {
			if r.core == nil {
				return run.ErrNotBegun
			}
			return r.core.Check(request(in))
		},
	})
}

func (r *dagRun) operate(ctx workflow.Context, name string, request dagrun.Request) (contract.DAGChanged, error) {
	before, limit := r.auditBefore(request), r.core.Limit(request.FanOut)
	r.loop.Observe()
	r.loop.Step(request)
	r.loop.Touch()
	answer := r.core.Answer()
	if answer.Err != nil {
		return contract.DAGChanged{}, answer.Err
	}
	r.auditUpdate(ctx, name, request, before)
	r.describe(true)
	result := contract.DAGChanged{Counts: r.core.Counts(), Tasks: answer.Changed, Redefined: answer.Redefined, Limits: answer.Limits}
	if request.Kind == dagrun.SetConcurrency {
		result.Before = limit
	}
	return result, nil
}

func (r *dagRun) jobTypeFound(l lookup) (found dagrun.JobType, problem string) {
	var result contract.LookUpJobTypeResult
	err := l.future.Get(r.ctx, &result)
	switch {
	case err != nil:
		return found, "job type " + l.name + " cannot be looked up: " + run.EndingOfError(err, "").Message
	case result.Spec == nil:
		return found, "job type " + l.name + " is not applied: add it to the configuration and run `roundsman apply`, then retry"
	}
	if total := r.carries(*result.Spec); total > maxCarried {
		return found, fmt.Sprintf("graph and job types have %d bytes with job type %s, the limit is %d: "+
			"use fewer job types, or keep their data in files", total, l.name, maxCarried)
	}
	r.jobTypes[l.name] = *result.Spec
	return jobTypeOf(*result.Spec), ""
}

// maxCarried leaves room for the run's resources and unrecorded entries when it continues as new.
const maxCarried = run.MaxArguments - 256<<10

func (r *dagRun) carries(more contract.JobTypeSpec) int {
	total := len(r.encoded) + sizeOf(more)
	//workflowcheck:ignore a sum does not depend on the order
	for _, known := range r.jobTypes {
		total += sizeOf(known)
	}
	return total
}

func sizeOf(spec contract.JobTypeSpec) int {
	encoded, err := json.Marshal(spec)
	if err != nil {
		return maxCarried // It was decoded from JSON.
	}
	return len(encoded)
}
