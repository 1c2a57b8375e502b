package workflows

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/fleet"
	"github.com/roundsman/roundsman/workflows/recorder"
)

// entityTrail is the trail of admission or of the registry, which serve all.
func entityTrail(ctx workflow.Context) *recorder.Recorder {
	return recorder.New(ctx, recorder.EntityPace, contract.AuditEntry{})
}

// auditDisabled tells what the retry budget has disabled in this step.
func (a *admissionRun) auditDisabled() {
	for _, held := range a.core.Disabled() {
		a.trail.Decided(recorder.Decision{
			Action: recorder.Refused, Code: contract.HoldRetryBudget, JobType: held.JobType, Object: heldName(held.JobType, held.Key), Detail: held.Text(),
		})
	}
}

// heldName is what a job type, or one of its keys, is called as an object.
func heldName(jobType, key string) string {
	name := contract.ScheduleID(jobType)
	if key != "" {
		name += "/key " + key
	}
	return name
}

// auditHold tells what an operator did about something that is held back; ctx is
// the update handler's.
func (a *admissionRun) auditHold(ctx workflow.Context, action, by string, result contract.HoldResult) contract.HoldResult {
	entry := contract.AuditEntry{
		Action: action, Actor: by, JobType: result.JobType, Object: heldName(result.JobType, result.DedupeKey),
		Before: holdText(result.Before), After: holdText(result.After),
	}
	if result.Failures > 0 {
		entry.Detail = fmt.Sprintf("%d failures are forgotten", result.Failures)
	}
	a.trail.Updated(ctx, entry)
	return result
}

func holdText(hold *contract.AdmissionHold) string {
	if hold == nil {
		return "not held back"
	}
	return hold.Code + ": " + hold.Detail
}

// auditResize tells of a pool's other size.
func (a *admissionRun) auditResize(ctx workflow.Context, in contract.ResizePoolInput, before, after contract.AdmissionPool) {
	a.trail.Updated(ctx, contract.AuditEntry{
		Action: "pool.resize", Actor: in.By, Object: "pool/" + in.Pool, Before: sizeText(before), After: sizeText(after),
	})
}

func sizeText(pool contract.AdmissionPool) string {
	if pool.Operator > 0 {
		return fmt.Sprintf("size: %d (resized)", pool.Size)
	}
	return fmt.Sprintf("size: %d", pool.Size)
}

// pool is a pool as it is now.
func (a *admissionRun) pool(name string) contract.AdmissionPool {
	for _, pool := range a.core.View().Pools {
		if pool.Name == name {
			return wirePool(pool)
		}
	}
	return contract.AdmissionPool{Name: name, Size: 1}
}

// auditRecovery tells that nothing is granted until those were heard who hold
// something. A recovery without anybody to ask delays nobody.
func (a *admissionRun) auditRecovery(asked []string, why string) {
	if len(asked) == 0 {
		return
	}
	a.trail.Decided(recorder.Decision{
		Action: recorder.Noticed, Code: "ADMISSION_RECOVERING", Object: contract.AdmissionWorkflowID, N: len(asked),
		Detail: why + " and asks what is held: " + listed(asked),
	})
}

func workerName(id string) string { return "worker/" + id }

// auditTransition tells of a worker that went silent: it gets nothing new, and
// what it ran is placed elsewhere. One that said goodbye, or that an operator
// took out, did as it was told.
func (f *fleetRun) auditTransition(t fleet.Transitioned) {
	said := t.By != "" || strings.HasPrefix(t.Reason, "unregistered") || strings.HasPrefix(t.Reason, "its process is shutting down")
	if said || t.To != fleet.Unreachable && t.To != fleet.Offline {
		return
	}
	f.trail.Decided(recorder.Decision{Action: recorder.Noticed, Code: "WORKER_" + string(t.To), Object: workerName(t.ID), Detail: t.Reason})
}

// auditRefused tells of a process whose id another one has.
func (f *fleetRun) auditRefused(in contract.WorkerRegistration, holder fleet.Holder) {
	f.trail.Decided(recorder.Decision{
		Action: recorder.Refused, Code: "WORKER_ID_TAKEN", Object: workerName(in.ID),
		Detail: fmt.Sprintf("process %d on %s: process %d on %s has the id", in.PID, in.Host, holder.PID, holder.Host),
	})
}

// auditTakeOver tells of a process that was started with --take-over and fenced
// another.
func (f *fleetRun) auditTakeOver(ctx workflow.Context, in contract.WorkerRegistration, fenced string, before contract.WorkerRegistration) {
	if !in.TakeOver || fenced == "" {
		return
	}
	f.trail.Updated(ctx, contract.AuditEntry{
		Action: "worker.take-over", Object: workerName(in.ID), Before: processText(before), After: processText(in),
	})
}

func processText(r contract.WorkerRegistration) string {
	return fmt.Sprintf("process %d on %s", r.PID, r.Host)
}

// auditOperate tells of what an operator did to a worker.
func (f *fleetRun) auditOperate(ctx workflow.Context, in contract.OperateWorkerInput, before fleet.Status) {
	after, _ := f.core.Worker(in.ID)
	f.trail.Updated(ctx, contract.AuditEntry{
		Action: "worker." + in.Action, Actor: in.By, Object: workerName(in.ID), Before: string(before.State), After: string(after.State), Detail: in.Reason,
	})
}

func (f *fleetRun) auditCaps(ctx workflow.Context, in contract.ResizeWorkerInput, before, after contract.WorkerCaps) {
	f.trail.Updated(ctx, contract.AuditEntry{
		Action: "worker.resize", Actor: in.By, Object: workerName(in.ID), Before: capsText(before), After: capsText(after), Detail: in.Reason,
	})
}

func capsText(caps contract.WorkerCaps) string {
	return fmt.Sprintf("detect: %d; execute: %d", caps.MaxDetect, caps.MaxExecute)
}

func (f *fleetRun) auditCleanup(ctx workflow.Context, in contract.CleanupWorkersInput, removed []string) {
	entry := contract.AuditEntry{Action: "worker.cleanup", Actor: in.By, Object: contract.FleetWorkflowID, Detail: "nothing to remove", Count: len(removed)}
	if len(removed) > 0 {
		entry.Detail = "removed " + listed(removed)
	}
	f.trail.Updated(ctx, entry)
}

// auditThresholds tells of other thresholds; the control plane sends the same
// ones whenever it starts.
func (f *fleetRun) auditThresholds(ctx workflow.Context, before, after contract.FleetConfig) {
	if was, is := changedSettings(before, after); was != is {
		f.trail.Updated(ctx, contract.AuditEntry{Action: "fleet.configure", Object: contract.FleetWorkflowID, Before: was, After: is})
	}
}
