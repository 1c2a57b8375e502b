package dagrun

import (
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
)

// group is the workflow id of the group whose lane the run shares; "": it shares none. A run that
// was resumed by itself has no group.
func (r *dagRun) group() string {
	parent := workflow.GetInfo(r.ctx).ParentWorkflowExecution
	if r.in.Lane == nil || parent == nil {
		return ""
	}
	return parent.ID
}

func (r *dagRun) collectGrants() {
	for {
		var in contract.LaneGrant
		if !r.grants.ReceiveAsync(&in) {
			return
		}
		if r.in.Lane != nil && in.Attempt == r.in.Lane.Attempt {
			r.carryOutAll(r.core.LaneGranted(r.runner.Now(), in.Seq))
		}
	}
}
