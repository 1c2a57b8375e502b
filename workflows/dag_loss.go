package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag/flow"
)

// loseTask ends an attempt in its worker's stead. Its activity then tells the
// run, so there is nothing to wait for here; if this fails, the heartbeat timeout
// does the same later.
func (r *dagRun) loseTask(d *flow.Decision) {
	info := workflow.GetInfo(r.ctx).WorkflowExecution
	callGiveUp(r.ctx, contract.GiveUpInput{
		WorkflowID: info.ID, RunID: info.RunID, ActivityID: contract.AttemptID(r.flow.Run().ID(d.Task), d.Attempt),
		Worker: d.ID, Reason: d.Reason,
	})
}
