package dagrun

import (
	"fmt"
	"slices"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
	"github.com/roundsman/roundsman/workflows/run"
)

// Bounds of the lists in a status and an explanation, which people read.
const (
	maxApprovals = 100
	maxFailed    = 50
	maxWaits     = 20
	maxSubDAGs   = 20

	defaultTasksLimit = 200
	maxTasksLimit     = 5000
)

// detailsEvery bounds the task ends between two texts for the Web UI: one part in detailsEvery of all tasks.
const detailsEvery = 100

func taskOf(v dagrun.TaskView) contract.DAGTask {
	return contract.DAGTask{State: v.Name, Attempts: v.Attempts, Worker: v.Worker, Error: v.Error, FromRun: v.From, FromTask: v.FromTask}
}

func taskViews(views []dagrun.TaskView) []contract.TaskView {
	list := make([]contract.TaskView, 0, len(views))
	for _, v := range views {
		list = append(list, contract.TaskView{
			ID: v.ID, Kind: string(v.Kind), Needs: v.Needs, DAGTask: taskOf(v), Redefined: v.Redefined, Waiting: v.Waiting,
			Until: v.Until, Timeout: v.Timeout, CreatedAt: v.CreatedAt, ModifiedAt: v.ModifiedAt, StartedAt: v.StartedAt, EndedAt: v.EndedAt, Result: v.Result,
		})
	}
	return slices.Clip(list)
}

// Phase implements [run.Describer].
func (r *dagRun) Phase() string {
	run := r.core.Run()
	switch {
	case run.Finished():
		return contract.PhaseEnded
	case run.Held():
		return contract.PhaseHeld
	case run.Ending():
		return "ending"
	}
	return "running"
}

func (r *dagRun) continuing() bool { return r.core == nil && r.in.Carry != nil }

func (r *dagRun) status() (contract.DAGStatus, error) {
	switch {
	case r.continuing():
		return contract.DAGStatus{}, run.ErrNotBegun
	case r.core == nil:
		return contract.DAGStatus{DAG: r.in.Name, Hash: r.in.Hash, Resumes: r.in.Resumes, Phase: "preparing", Runs: r.runs}, nil
	}
	run, s := r.core.Run(), r.core.Status(r.loop.Now())
	status := contract.DAGStatus{
		DAG: r.in.Name, Hash: r.in.Hash, Resumes: r.in.Resumes, Phase: r.Phase(), Paused: run.Paused(), PauseNote: s.PauseNote, PausedBy: s.PausedBy,
		StartedAt: s.StartedAt, ModifiedAt: s.ModifiedAt, Deadline: s.Deadline, HeldUntil: s.HeldUntil, Total: run.Len(), Counts: r.core.Counts(),
		Concurrency: run.Options().Concurrency, Waiting: s.Waiting, Runs: r.runs,
		Approvals: taskViews(r.core.Approvals(maxApprovals)),
	}
	if run.Count(dag.Failed) > 0 {
		failed, _ := r.core.Tasks(dagrun.Filter{States: []string{dag.Failed.String()}, Limit: maxFailed})
		status.Failed = taskViews(failed)
	}
	for _, w := range s.Workers {
		status.Workers = append(status.Workers, contract.GroupWorker{
			ID: w.ID, State: w.State, Usable: w.Reason == "", Reason: w.Reason, Running: w.InFlight, Slots: w.Slots, Others: w.Others,
		})
	}
	return status, nil
}

func (r *dagRun) tasks(in contract.TasksQueryInput) (contract.TasksQueryResult, error) {
	switch {
	case r.continuing():
		return contract.TasksQueryResult{}, run.ErrNotBegun
	case r.core == nil:
		return contract.TasksQueryResult{}, nil
	}
	limit := in.Limit
	if limit <= 0 {
		limit = defaultTasksLimit
	}
	views, total := r.core.Tasks(dagrun.Filter{
		States: in.States, Task: in.Task, Key: in.Key, Offset: in.Offset, Limit: min(limit, maxTasksLimit),
	})
	return contract.TasksQueryResult{Tasks: taskViews(views), Total: total}, nil
}

func (r *dagRun) final() ([]byte, error) {
	if r.core == nil {
		return nil, run.ErrNotBegun
	}
	return r.core.Snapshot()
}

func (r *dagRun) explain(in contract.ExplainQueryInput) (contract.ExplainQueryResult, error) {
	switch {
	case r.continuing():
		return contract.ExplainQueryResult{}, run.ErrNotBegun
	case r.core == nil:
		return contract.ExplainQueryResult{State: "preparing", Waits: []contract.WaitReason{{
			Code: string(contract.CodeStarting), Detail: "the run is being prepared: its graph is compiled",
		}}}, nil
	}
	if in.Task != "" {
		return r.explainTask(in.Task), nil
	}
	waits, more := r.core.RunWaits(maxWaits)
	result := contract.ExplainQueryResult{State: r.Phase(), Waits: r.waitReasons(waits), More: more}
	if r.core.Run().Paused() && !r.core.Run().Finished() {
		result.State = "paused"
	}
	result.SubDAGs, result.Running = r.core.SubDAGs(maxSubDAGs)
	return result, nil
}

func (r *dagRun) explainTask(id string) contract.ExplainQueryResult {
	i, ok := r.core.Run().Lookup(id)
	if !ok {
		return contract.ExplainQueryResult{Unknown: true, Similar: r.core.Similar(id)}
	}
	view := r.core.View(i)
	result := contract.ExplainQueryResult{
		Kind: string(view.Kind), State: view.Name, Worker: view.Worker, StartedAt: view.StartedAt, Waits: r.waitReasons(r.core.Waits(i)),
	}
	if view.State == dag.Running && len(result.Waits) > 0 {
		result.State = "waiting"
	}
	return result
}

func (r *dagRun) waitReasons(waits []dagrun.Wait) []contract.WaitReason {
	var list []contract.WaitReason
	for _, w := range waits {
		reason := contract.WaitReason{Code: string(w.Code), Object: w.Object, Since: w.Since, Until: w.Until, Detail: w.Detail, Items: w.Tasks}
		if w.Tasks == 1 && w.Task != dag.None {
			reason.Item = r.core.Run().ID(w.Task)
		}
		if w.Ask > 0 {
			reason.Object = contract.AskID(r.core.Run().ID(w.Task), w.Ask)
		}
		list = append(list, reason)
	}
	return list
}

// While nothing runs, each event may change the cause of the wait.
func (r *dagRun) details(now bool) (text string, changed bool) {
	run := r.core.Run()
	done := run.Count(dag.Completed) + run.Count(dag.Failed) + run.Count(dag.UpstreamFailed) + run.Count(dag.Skipped) + run.Count(dag.Canceled)
	if !now && r.loop.InFlight() > 0 && done < r.described+max(1, run.Len()/detailsEvery) {
		return "", false
	}
	r.described = done
	text = fmt.Sprintf("**%s** · %d of %d tasks", r.Phase(), done, run.Len())
	for _, s := range dag.States() {
		if n := run.Count(s); n > 0 {
			text += fmt.Sprintf(" · %d %s", n, s)
		}
	}
	waits, _ := r.core.RunWaits(1)
	if reasons := r.waitReasons(waits); len(reasons) > 0 {
		return r.loop.Details(&reasons[0], text), true
	}
	return text, true
}
