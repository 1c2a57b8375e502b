package group

import (
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run/group"
	"github.com/roundsman/roundsman/internal/engine/run/group/breaks"
)

// callGrantLane signals the run of a DAG. A run that has ended needs no lane.
func callGrantLane(ctx workflow.Context, id string, in contract.LaneGrant) {
	workflow.SignalExternalWorkflow(ctx, id, "", contract.SignalLaneGrant, in)
}

// collectLaneReports takes the reports of the runs of DAGs about their lane.
func (r *groupRun) collectLaneReports() {
	for {
		var in contract.LaneReport
		if !r.messages.lane.ReceiveAsync(&in) {
			return
		}
		if job, known := contract.JobNumber(in.JobID); known {
			r.step(group.LaneReported{Report: breaks.Report{Job: job, Attempt: in.Attempt, Seq: in.Seq, Wants: in.Wants}})
		}
	}
}
