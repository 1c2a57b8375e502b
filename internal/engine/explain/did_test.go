package explain_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
)

func TestAnActionIsToldInWords(t *testing.T) {
	t.Parallel()
	for action, want := range map[string]string{
		"jobtype.pause": "paused", "jobtype.set": "changed settings", "jobtype.run": "started", "jobtype.backfill": "ran past instants",
		"jobs.submit": "submitted jobs", "apply.create": "created", "apply.drift": "applied over a change by hand", "apply.delete": "deleted",
		"run.cancel": "canceled", "run.terminate": "terminated", "job.expire": "gave up", "policy.set": "changed a limit",
		"dag.cancel-task": "canceled", "dag.reject": "rejected", "dag.add-tasks": "added tasks", "dag.release": "released",
		"worker.uncordon": "uncordoned", "worker.take-over": "took over", "pool.resize": "resized", "hold.re-enable": "re-enabled",
		"hold.mark-done": "marked as done", "key.rotate": "rotated", "sessions.end": "ended", "fleet.configure": "configured",
		"admission" + contract.AuditTerminated: "terminated", "audit" + contract.AuditEnded: "ended",
		"refused": "was refused", "audit.reset": "reset", "dag.rerun": "ran again", contract.AuditRestore: "put settings back",
	} {
		assert.Equal(t, want, explain.Did(contract.AuditEntry{Action: action}), action)
	}
	assert.Equal(t, "refused", explain.Did(contract.AuditEntry{Action: "refused", Kind: contract.AuditScheduler}))
	for message, want := range map[string]string{
		contract.UpdateCancelItem: "canceled", contract.SignalCancelRun: "canceled", contract.UpdateApprove: "approved", contract.UpdateReject: "rejected",
		contract.UpdateSkipTask: "skipped", contract.UpdateRetryTasks: "retried", contract.UpdateRerunTask: "ran again",
	} {
		assert.Equal(t, want, explain.DidRequest(message), message)
	}
}

func TestAnInstantWithoutARunIsToldInWords(t *testing.T) {
	t.Parallel()
	for code, want := range map[contract.Code]string{
		contract.CodePaused: "paused", contract.CodeOverlap: "overlaps the run before", contract.CodeCaughtUp: "one late run stands for it",
		contract.CodeServerAway: "the server was away", contract.CodeForgotten: "no longer kept", contract.CodeNotDue: "has succeeded recently",
		contract.CodeWindowClosed: "its window is closed", contract.CodeLaneBusy: "its lane is taken", contract.CodeRetryBudget: "too much of it failed",
		contract.CodeAfter: "", "": "",
	} {
		assert.Equal(t, want, explain.TextTick(code), code)
	}
}
