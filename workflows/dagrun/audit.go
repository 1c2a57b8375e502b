package dagrun

import (
	"strconv"
	"strings"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
	"github.com/roundsman/roundsman/workflows/run"
)

const auditTasks = 10

// goingOn is the state of a run that is not paused, in audit entries.
const goingOn = "going on"

// auditUpdate records a completed update; before is the result of auditBefore. ctx is the
// context of the update handler.
func (r *dagRun) auditUpdate(ctx workflow.Context, name string, request dagrun.Request, before string, changed []string) {
	entry := contract.AuditEntry{Action: "dag." + name, Actor: request.By, Detail: request.Note, Before: before}
	entry.After = r.auditBefore(request)
	switch {
	case len(request.Tasks) == 1:
		entry.Object = r.runner.Audit.Object() + "/" + request.Tasks[0]
	case len(request.Tasks) == 0:
		entry.Detail, entry.Count = r.listChanges(changed)
	}
	r.runner.Audit.Updated(ctx, entry)
}

func (r *dagRun) auditBefore(request dagrun.Request) string {
	run := r.core.Run()
	switch request.Kind { //nolint:exhaustive // the others are about tasks
	case dagrun.SetConcurrency:
		return contract.ConcurrencyOf(request.FanOut) + ": " + strconv.Itoa(r.core.Limit(request.FanOut))
	case dagrun.Release:
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

// listChanges names the tasks that a request retried or added, and the tasks that it redefined.
func (r *dagRun) listChanges(changed []string) (detail string, count int) {
	redefined := r.core.Redefined()
	if detail = listed(changed); len(redefined) > 0 {
		detail = strings.TrimPrefix(detail+"; redefined: "+listed(redefined), "; ")
	}
	return detail, len(changed) + len(redefined)
}

func listed(names []string) string {
	text := strings.Join(names[:min(len(names), auditTasks)], ", ")
	if more := len(names) - auditTasks; more > 0 {
		text += ", and " + strconv.Itoa(more) + " more"
	}
	return text
}

func (r *dagRun) auditSteer(steer run.Steer) {
	if steer.Pause {
		r.runner.Audit.Signaled(contract.SignalPause, contract.AuditEntry{Action: "dag.pause", Actor: steer.By, Before: r.pauseState(), After: pausedText(steer.Note)})
		return
	}
	r.runner.Audit.Signaled(contract.SignalResume, contract.AuditEntry{Action: "dag.resume", Actor: steer.By, Before: r.pauseState(), After: goingOn})
}

func (r *dagRun) pauseState() string {
	if r.core.Run().Paused() {
		return pausedText(r.core.Status(r.runner.Now()).PauseNote)
	}
	return goingOn
}

func pausedText(note string) string { return strings.TrimSuffix("paused: "+note, ": ") }

// auditCanceled records a cancellation of the workflow. If it is a child, its parent has
// recorded the sender.
func (r *dagRun) auditCanceled() {
	if workflow.GetInfo(r.ctx).ParentWorkflowExecution == nil {
		r.runner.Audit.Canceled(contract.AuditEntry{Action: "dag.cancel", Before: r.phase()})
	}
}
