package workflows

import (
	"errors"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/flow"
	"github.com/roundsman/roundsman/internal/placement"
)

var errDAGNotBegun = errors.New("the run has not begun yet; try again in a moment")

// dagMessages are the channels of a run's signals.
type dagMessages struct {
	cancel, pause, resume, outcome, room, fleet, admission, reassert workflow.ReceiveChannel
}

// waiting reports whether a signal has come.
func (m dagMessages) waiting() bool {
	return m.cancel.Len()+m.pause.Len()+m.resume.Len()+m.outcome.Len()+m.room.Len()+m.fleet.Len()+m.admission.Len()+m.reassert.Len() > 0
}

// listen opens the run to messages. Update handlers never wait, so that none is
// unfinished when the run ends or continues as new.
func (r *dagRun) listen() error {
	r.messages = dagMessages{
		cancel:  workflow.GetSignalChannel(r.ctx, contract.SignalCancelDAG),
		pause:   workflow.GetSignalChannel(r.ctx, contract.SignalPause),
		resume:  workflow.GetSignalChannel(r.ctx, contract.SignalResume),
		outcome: workflow.GetSignalChannel(r.ctx, contract.SignalJobOutcome),
		room:    workflow.GetSignalChannel(r.ctx, contract.SignalWorkerRoom),
		fleet:   workflow.GetSignalChannel(r.ctx, contract.SignalFleetChanged),

		admission: workflow.GetSignalChannel(r.ctx, contract.SignalAdmissionAnswer),
		reassert:  workflow.GetSignalChannel(r.ctx, contract.SignalReassert),
	}
	return errors.Join(
		onUpdate(r, contract.UpdateRetryTasks, "Tries failed tasks again, with what they blocked.", func(in contract.RetryTasksInput) flow.Request {
			return flow.Request{Kind: flow.Retry, Tasks: in.Tasks, By: in.By}
		}),
		onUpdate(r, contract.UpdateSkipTask, "Makes a task count as done.", taskRequest(flow.Skip)),
		onUpdate(r, contract.UpdateRerunTask, "Executes a task and what depends on it again.", taskRequest(flow.Rerun)),
		onUpdate(r, contract.UpdateCancelTask, "Cancels one task.", taskRequest(flow.CancelTask)),
		onUpdate(r, contract.UpdateApprove, "Lets a task go on that waits for an approval.", decideRequest(flow.Approve)),
		onUpdate(r, contract.UpdateReject, "Fails a task that waits for an approval.", decideRequest(flow.Reject)),
		onUpdate(r, contract.UpdateAddTasks, "Inserts tasks.", func(in contract.AddTasksInput) flow.Request {
			request := flow.Request{Kind: flow.Add, Data: in.Tasks, File: in.File, By: in.By}
			if in.Text != "" {
				request.Data = []byte(in.Text)
			}
			return request
		}),
		onUpdate(r, contract.UpdateSetConcurrency, "Changes how many tasks run at once.", func(in contract.SetConcurrencyInput) flow.Request {
			return flow.Request{Kind: flow.SetConcurrency, Limit: in.Concurrency}
		}),
		onUpdate(r, contract.UpdateRelease, "Ends a held run.", func(contract.TaskInput) flow.Request {
			return flow.Request{Kind: flow.Release}
		}),
		workflow.SetQueryHandlerWithOptions(r.ctx, contract.QueryStatus, r.status,
			workflow.QueryHandlerOptions{Description: "Where the run is: phase, counts, approvals, failed tasks, workers, what it waits for."}),
		workflow.SetQueryHandlerWithOptions(r.ctx, contract.QueryTasks, r.tasks,
			workflow.QueryHandlerOptions{Description: "The tasks of the run, filtered and paged."}),
		workflow.SetQueryHandlerWithOptions(r.ctx, contract.QueryExplain, r.explain,
			workflow.QueryHandlerOptions{Description: "What the run, or one task, waits for, by the codes of docs/explain.md."}),
		workflow.SetQueryHandlerWithOptions(r.ctx, contract.QueryFinal, r.final,
			workflow.QueryHandlerOptions{Description: "The state of the run as bytes, for resuming it."}),
	)
}

func taskRequest(kind flow.RequestKind) func(contract.TaskInput) flow.Request {
	return func(in contract.TaskInput) flow.Request {
		return flow.Request{Kind: kind, Tasks: []string{in.Task}, By: in.By, Note: in.Reason}
	}
}

func decideRequest(kind flow.RequestKind) func(contract.DecideTaskInput) flow.Request {
	return func(in contract.DecideTaskInput) flow.Request {
		return flow.Request{Kind: kind, Tasks: []string{in.Task}, By: in.By, Note: in.Note}
	}
}

// onUpdate serves one update: its validator refuses what the flow would refuse,
// its handler carries it out.
func onUpdate[T any](r *dagRun, name, description string, request func(T) flow.Request) error {
	return workflow.SetUpdateHandlerWithOptions(r.ctx, name, func(ctx workflow.Context, in T) (contract.DAGChanged, error) {
		return r.operate(ctx, name, request(in))
	}, workflow.UpdateHandlerOptions{
		Description: description,
		Validator: func(_ workflow.Context, in T) error {
			if r.flow == nil {
				return errDAGNotBegun
			}
			return r.flow.Check(request(in))
		},
	})
}

func (r *dagRun) operate(ctx workflow.Context, name string, request flow.Request) (contract.DAGChanged, error) {
	r.observe()
	before := r.auditBefore(request)
	decisions, changed, err := r.flow.Operate(workflow.Now(r.ctx), request)
	r.carryOutAll(decisions)
	r.touched = true
	if err != nil {
		return contract.DAGChanged{}, err
	}
	r.auditUpdate(ctx, name, request, before, changed)
	r.describe(true)
	return contract.DAGChanged{Counts: r.flow.Counts(), Tasks: changed}, nil
}

// collectMessages tells the flow all signals that have come, but outcomes. A
// signal that cannot be decoded is logged and dropped by the SDK.
func (r *dagRun) collectMessages() {
	now := workflow.Now(r.ctx)
	r.collectFleet(now)
	for _, wish := range steeringOf(r.ctx).take(r.messages.pause, r.messages.resume) {
		if wish.pause {
			r.auditPause(wish.PauseInput)
			r.carryOutAll(r.flow.Pause(now, wish.By, wish.Note))
			continue
		}
		r.auditResume()
		r.carryOutAll(r.flow.Resume(now))
	}
	for {
		var in contract.CancelDAGInput
		if !r.messages.cancel.ReceiveAsync(&in) {
			break
		}
		r.auditCancel(in)
		if in.Reason == "" {
			in.Reason = "canceled by an operator"
		}
		r.carryOutAll(r.flow.CancelRun(now, in.Reason))
	}
	r.collectAdmission(now)
}

// collectFleet keeps only the newest view.
func (r *dagRun) collectFleet(now time.Time) {
	newest := newestView(r.messages.fleet, &r.seen)
	if newest == nil {
		return
	}
	workers := make([]flow.Worker, 0, len(newest.Workers))
	for _, view := range newest.Workers {
		workers = append(workers, workerOf(view))
	}
	r.carryOutAll(r.flow.SetWorkers(now, workers))
}

func workerOf(view contract.WorkerView) flow.Worker {
	w := flow.Worker{
		Worker: placement.Worker{
			ID: view.ID, Instance: view.Instance, State: string(view.State),
			Online: view.State == contract.WorkerOnline, Offline: view.State == contract.WorkerOffline && !view.Leaving,
			Fresh: view.Fresh, Beat: view.Beat, Labels: view.Labels,
			Gone: view.State == contract.WorkerOffline && !view.Leaving, Fenced: view.Fenced,
		},
		Offer: flow.Offer{Slots: view.MaxExecute, JobTypes: view.JobTypes, Shared: view.Shared, Handlers: map[string]int{}},
	}
	for _, c := range view.Capabilities {
		if c.Execute {
			w.Offer.Handlers[c.Handler] = c.MaxExecute
		}
	}
	return w
}

func (r *dagRun) phase() string {
	run := r.flow.Run()
	switch {
	case run.Finished():
		return "ended"
	case run.Held():
		return "held"
	case run.Ending():
		return "ending"
	}
	return "running"
}

// Bounds of what a status lists.
const (
	maxApprovals = 100
	maxFailed    = 50
)

func (r *dagRun) status() (contract.DAGStatus, error) {
	if r.flow == nil {
		return contract.DAGStatus{DAG: r.in.Name, Hash: r.in.Hash, Resumes: r.in.Resumes, Phase: "preparing", Runs: r.runs}, nil
	}
	now, run, s := workflow.Now(r.ctx), r.flow.Run(), r.flow.Status()
	status := contract.DAGStatus{
		DAG: r.in.Name, Hash: r.in.Hash, Resumes: r.in.Resumes, Phase: r.phase(), Paused: run.Paused(), PauseNote: s.PauseNote, PausedBy: s.PausedBy,
		StartedAt: s.StartedAt, Deadline: s.Deadline, HeldUntil: s.HeldUntil, Total: run.Len(), Counts: r.flow.Counts(),
		Concurrency: run.Options().Concurrency, Waiting: s.Waiting, Runs: r.runs,
		Approvals: taskViews(r.flow.Approvals(maxApprovals)),
	}
	if run.Count(dag.Failed) > 0 {
		failed, _ := r.flow.Tasks(flow.Filter{States: []string{dag.Failed.String()}, Limit: maxFailed})
		status.Failed = taskViews(failed)
	}
	for _, w := range s.Workers {
		reason := w.Reason(now)
		status.Workers = append(status.Workers, contract.GroupWorker{
			ID: w.ID, State: w.State, Usable: reason == "", Reason: reason, Running: w.InFlight, Slots: w.Offer.Slots, Others: w.Load.Others,
		})
	}
	return status, nil
}

func taskViews(views []flow.TaskView) []contract.TaskView {
	list := make([]contract.TaskView, 0, len(views))
	for _, v := range views {
		list = append(list, contract.TaskView{
			ID: v.ID, Kind: string(v.Kind), Needs: v.Needs, DAGTask: taskOf(v), Waiting: v.Waiting,
			Until: v.Until, StartedAt: v.StartedAt, Result: v.Result,
		})
	}
	return slices.Clip(list)
}

const (
	defaultTasksLimit = 200
	maxTasksLimit     = 5000
)

func (r *dagRun) tasks(in contract.TasksQueryInput) (contract.TasksQueryResult, error) {
	if r.flow == nil {
		return contract.TasksQueryResult{}, nil
	}
	limit := in.Limit
	if limit <= 0 {
		limit = defaultTasksLimit
	}
	views, total := r.flow.Tasks(flow.Filter{
		States: in.States, Task: in.Task, Offset: in.Offset, Limit: min(limit, maxTasksLimit),
	})
	return contract.TasksQueryResult{Tasks: taskViews(views), Total: total}, nil
}

func (r *dagRun) final() ([]byte, error) {
	if r.flow == nil {
		return nil, errDAGNotBegun
	}
	return r.flow.Snapshot()
}
