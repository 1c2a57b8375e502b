package dagrun

import (
	"errors"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
)

// group is the workflow id of the group, or the run above, whose lane the run shares. A run resumed by itself has none.
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
			r.loop.Step(dagrun.LaneGranted{Seq: in.Seq})
		}
	}
}

// laneOf is the lane of a sub-DAG; nil if the run shares none.
func (r *dagRun) laneOf(task string, attempt int) *contract.DAGLane {
	if r.group() == "" {
		return nil
	}
	return &contract.DAGLane{Lane: r.in.Lane.Lane, JobID: task, Attempt: attempt}
}

// A group that has ended holds no lane: tasks that run after a cancellation begin without it.
func (r *dagRun) collectReports() {
	for i := 0; i < len(r.reports); {
		l := r.reports[i]
		if !l.future.IsReady() {
			i++
			continue
		}
		r.reports = append(r.reports[:i], r.reports[i+1:]...)
		var gone *temporal.UnknownExternalWorkflowExecutionError
		if err := l.future.Get(r.ctx, nil); errors.As(err, &gone) {
			r.loop.Step(dagrun.LaneGranted{Seq: l.seq})
		}
	}
}
