package group

import (
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run/breaks"
	"github.com/roundsman/roundsman/internal/engine/run/group"
)

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
