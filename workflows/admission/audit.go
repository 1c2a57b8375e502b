package admission

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/workflows/recorder"
)

func (a *run) auditDisabled() {
	for _, held := range a.core.Disabled() {
		a.loop.Audit.Decided(recorder.Decision{
			Action: recorder.Refused, Code: contract.HoldRetryBudget, JobType: auditedType(held.JobType), Object: heldName(held.JobType, held.DedupeKey), Detail: held.String(),
		})
	}
}

func auditedType(jobType string) string {
	name, _ := contract.DAGOfTasks(jobType)
	return name
}

// heldName returns the audit object of a job type, one of its keys, or a task of a DAG.
func heldName(jobType, key string) string {
	if dag, ok := contract.DAGOfTasks(jobType); ok {
		return "dag/" + dag + "/task " + key
	}
	name := contract.ScheduleID(jobType)
	if key != "" {
		name += "/key " + key
	}
	return name
}

func (a *run) auditHold(ctx workflow.Context, action, by string, result contract.HoldResult) contract.HoldResult {
	entry := contract.AuditEntry{
		Action: action, Actor: by, JobType: auditedType(result.JobType), Object: heldName(result.JobType, result.DedupeKey),
		Before: holdText(result.Before), After: holdText(result.After),
	}
	if result.Failures > 0 {
		entry.Detail = fmt.Sprintf("%d failures are forgotten", result.Failures)
	}
	a.loop.Audit.Updated(ctx, entry)
	return result
}

func holdText(hold *contract.AdmissionHold) string {
	if hold == nil {
		return "not held back"
	}
	return hold.Code + ": " + hold.String()
}

func (a *run) auditResize(ctx workflow.Context, in contract.ResizePoolInput, before, after contract.AdmissionPool) {
	a.loop.Audit.Updated(ctx, contract.AuditEntry{
		Action: "pool.resize", Actor: in.By, Object: "pool/" + in.Pool, Before: sizeText(before), After: sizeText(after),
	})
}

func sizeText(pool contract.AdmissionPool) string {
	if pool.Operator > 0 {
		return fmt.Sprintf("size: %d (resized)", pool.Size)
	}
	return fmt.Sprintf("size: %d", pool.Size)
}

func (a *run) auditLoss(fault string) {
	a.loop.Audit.Decided(recorder.Decision{
		Action: recorder.Noticed, Code: "STATE_LOST", Object: contract.AdmissionWorkflowID,
		Detail: "pool sizes, retry budgets, past grants and fences of the run before are lost, or older than its end: " + fault,
	})
}

func (a *run) auditUnlisted(reason string) {
	a.loop.Audit.Decided(recorder.Decision{
		Action: recorder.Noticed, Code: "HOLDERS_UNLISTED", Object: contract.AdmissionWorkflowID,
		Detail: "admission cannot list the running runs. It grants nothing, tries again, and continues after the limit of a recovery: " + reason,
	})
}

// auditRecovery records a wait for the reports of running holders. Without holders there is no wait to record.
func (a *run) auditRecovery(asked []string) {
	if len(asked) == 0 {
		return
	}
	a.loop.Audit.Decided(recorder.Decision{
		Action: recorder.Noticed, Code: string(contract.CodeRecovering), Object: contract.AdmissionWorkflowID, N: len(asked),
		Detail: "admission was restarted or reset and requests all holdings: " + recorder.Listed(asked),
	})
}
