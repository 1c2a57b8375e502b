package workflows

import (
	"strconv"
	"strings"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/flow"
	"github.com/roundsman/roundsman/workflows/recorder"
)

// auditTasks bounds how many tasks an entry names.
const auditTasks = 10

// dagTrail is the trail of a run.
func dagTrail(ctx workflow.Context, name string) *recorder.Recorder {
	return recorder.New(ctx, recorder.RunPace, contract.AuditEntry{JobType: name, Object: workflow.GetInfo(ctx).WorkflowExecution.ID})
}

// auditNotes takes what the flow has noted.
func (r *dagRun) auditNotes() {
	placed(r.trail, r.flow.Notes(), func(task int) string { return r.flow.Run().ID(dag.Index(task)) })
}

// auditUpdate tells of an update that was carried out; before is what
// auditBefore said. ctx is the handler's.
func (r *dagRun) auditUpdate(ctx workflow.Context, name string, request flow.Request, before string, changed []string) {
	entry := contract.AuditEntry{Action: "dag." + name, Actor: request.By, Detail: request.Note, Before: before}
	entry.After = r.auditBefore(request)
	switch {
	case len(request.Tasks) == 1:
		entry.Object = r.trail.Object() + "/" + request.Tasks[0]
	case len(request.Tasks) == 0 && len(changed) > 0:
		entry.Detail, entry.Count = recorder.Listed(changed), len(changed)
	}
	r.trail.Updated(ctx, entry)
}

// auditBefore is the state of what a request is about.
func (r *dagRun) auditBefore(request flow.Request) string {
	run := r.flow.Run()
	switch request.Kind { //nolint:exhaustive // the others are about tasks
	case flow.SetConcurrency:
		return "concurrency: " + strconv.Itoa(run.Options().Concurrency)
	case flow.Release:
		return r.phase()
	}
	var states []string
	for _, id := range request.Tasks[:min(len(request.Tasks), auditTasks)] {
		if i, ok := run.Lookup(id); ok {
			states = append(states, id+": "+run.State(i).String())
		}
	}
	return strings.Join(states, "; ")
}

func (r *dagRun) auditPause(in contract.PauseInput) {
	r.trail.Signaled(contract.SignalPause, contract.AuditEntry{Action: "dag.pause", Actor: in.By, Before: r.pauseState(), After: pausedText(in.Note)})
}

func (r *dagRun) auditResume() {
	r.trail.Signaled(contract.SignalResume, contract.AuditEntry{Action: "dag.resume", Before: r.pauseState(), After: "going on"})
}

func (r *dagRun) pauseState() string {
	if r.flow.Run().Paused() {
		return pausedText(r.flow.Status().PauseNote)
	}
	return "going on"
}

func (r *dagRun) auditCancel(in contract.CancelDAGInput) {
	r.trail.Signaled(contract.SignalCancelDAG, contract.AuditEntry{Action: "dag.cancel", Actor: in.By, Before: r.phase(), Detail: in.Reason})
}

// auditCanceled tells that somebody canceled the workflow. A part of another
// workflow is canceled by that one, which has told who canceled it.
func (r *dagRun) auditCanceled() {
	if workflow.GetInfo(r.ctx).ParentWorkflowExecution == nil {
		r.trail.Canceled(contract.AuditEntry{Action: "dag.cancel", Before: r.phase()})
	}
}
