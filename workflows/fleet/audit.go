package fleet

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/fleet"
	"github.com/roundsman/roundsman/workflows/recorder"
)

func workerName(id string) string { return "worker/" + id }

// auditTransition records a worker that went silent, or whose programs do not start. It omits requested transitions.
func (r *run) auditTransition(t fleet.Transitioned) {
	code := "WORKER_" + string(t.To)
	switch t.Code { //nolint:exhaustive // the others are as requested
	case contract.WorkerSilent:
	case contract.WorkerSuspect, contract.WorkerCleared:
		code = "WORKER_" + string(t.Code)
	default:
		return
	}
	r.loop.Audit.Decided(recorder.Decision{
		Action: recorder.Noticed, Code: code, Object: workerName(t.ID), Detail: explain.Transition(t.WorkerTransition),
	})
}

func (r *run) auditRefused(in contract.WorkerRegistration, holder contract.RegisteredOther) {
	r.loop.Audit.Decided(recorder.Decision{
		Action: recorder.Refused, Code: "WORKER_ID_TAKEN", Object: workerName(in.ID),
		Detail: fmt.Sprintf("process %d on %s: process %d on %s has the id", in.PID, in.Host, holder.PID, holder.Host),
	})
}

func (r *run) auditTakeOver(ctx workflow.Context, in contract.WorkerRegistration, fenced string, before contract.WorkerRegistration) {
	if !in.TakeOver || fenced == "" {
		return
	}
	r.loop.Audit.Updated(ctx, contract.AuditEntry{
		Action: "worker.take-over", Object: workerName(in.ID), Before: processText(before), After: processText(in),
	})
}

func processText(r contract.WorkerRegistration) string {
	return fmt.Sprintf("process %d on %s", r.PID, r.Host)
}

func (r *run) auditOperate(ctx workflow.Context, in contract.OperateWorkerInput, before, after contract.WorkerDetail) {
	r.loop.Audit.Updated(ctx, contract.AuditEntry{
		Action: "worker." + in.Action, Actor: in.By, Object: workerName(in.ID),
		Before: string(before.State), After: string(after.State), Detail: in.Reason,
	})
}

func (r *run) auditCaps(ctx workflow.Context, in contract.ResizeWorkerInput, before, after contract.WorkerDetail) {
	r.loop.Audit.Updated(ctx, contract.AuditEntry{
		Action: "worker.resize", Actor: in.By, Object: workerName(in.ID),
		Before: capsText(before.Registration), After: capsText(after.Registration), Detail: in.Reason,
	})
}

// capsText includes whether an operator has set the caps, so that the action can be reverted.
func capsText(r contract.WorkerRegistration) string {
	caps := r.Caps()
	text := fmt.Sprintf("detect: %d; execute: %d", caps.MaxDetect, caps.MaxExecute)
	if r.Resized != nil {
		text += " (resized)"
	}
	return text
}

func (r *run) auditCleanup(ctx workflow.Context, in contract.CleanupWorkersInput, removed []string) {
	entry := contract.AuditEntry{Action: "worker.cleanup", Actor: in.By, Object: contract.FleetWorkflowID, Detail: "nothing to remove", Count: len(removed)}
	if len(removed) > 0 {
		entry.Detail = "removed " + recorder.Listed(removed)
	}
	r.loop.Audit.Updated(ctx, entry)
}

// auditThresholds records changed thresholds. Every control plane sends its thresholds at its start.
func (r *run) auditThresholds(ctx workflow.Context, plane *contract.ControlPlane, before, after contract.FleetConfig) {
	was, is := recorder.Changes(before, after)
	if was == is {
		return
	}
	entry := contract.AuditEntry{Action: "fleet.configure", Object: contract.FleetWorkflowID, Before: was, After: is}
	if plane != nil {
		entry.Actor, entry.Detail = plane.By, "by the file of control plane "+plane.Identity
	}
	r.loop.Audit.Updated(ctx, entry)
}
