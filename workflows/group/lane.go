package group

import (
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run/breaks"
	"github.com/roundsman/roundsman/internal/engine/run/group"
)

// collectLaneReports collects the lane reports of the group's DAG runs.
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
