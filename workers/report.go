package workers

import (
	"cmp"
	"slices"
	"time"

	"github.com/roundsman/roundsman/activities/jobs"
	"github.com/roundsman/roundsman/contract"
)

// Report returns the running work of the node. It is safe for concurrent use.
func (n *Node) Report() contract.WorkerReport {
	report := contract.WorkerReport{
		ID: n.options.ID, Instance: n.instance, At: time.Now().UTC(), Caps: n.caps(),
		Undelivered: n.jobs.Undelivered(), Registered: n.accepted.Load(),
		Held: n.executeSlots.Held(contract.SharedQueuePrefix), Stopping: n.stopping.Load(), Jobs: []contract.WorkerJob{},
		Queued: n.gates.execute.queued(), QueuedDetections: n.gates.detect.queued(),
	}
	running := n.jobs.Running()
	slices.SortFunc(running, func(a, b jobs.Running) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.GroupID, b.GroupID), cmp.Compare(a.JobID, b.JobID))
	})
	for _, r := range running {
		if r.Detection {
			report.Detecting++
		} else {
			report.Executing++
		}
		if r.Zombie {
			report.Zombies++
		}
		if len(report.Jobs) == contract.MaxReportJobs {
			report.Omitted++
			continue
		}
		report.Jobs = append(report.Jobs, reported(r))
	}
	return report
}

func reported(r jobs.Running) contract.WorkerJob {
	return contract.WorkerJob{
		JobID: r.JobID, GroupID: r.GroupID, JobType: r.JobType, Handler: r.Handler, Detection: r.Detection,
		State: stateOf(r), Attempt: r.Attempt, StartedAt: r.StartedAt.UTC(),
		Percent: r.Percent, Stage: r.Stage, Message: r.Message, ReportedAt: r.ReportedAt.UTC(),
	}
}

func stateOf(r jobs.Running) contract.WorkerJobState {
	switch {
	case r.Reporting:
		return contract.WorkerJobReporting
	case r.Zombie:
		return contract.WorkerJobZombie
	case r.Ending:
		return contract.WorkerJobEnding
	case r.Orphaned:
		return contract.WorkerJobOrphaned
	}
	return contract.WorkerJobRunning
}

// Usage returns the slots for jobs used in the last hours.
func (n *Node) Usage() contract.WorkerUsage {
	return contract.WorkerUsage{ID: n.options.ID, Instance: n.instance, At: time.Now().UTC(), Spans: n.gates.execute.Usage()}
}

// Attempt returns the state of one attempt in this process.
func (n *Node) Attempt(in contract.AttemptQueryInput) contract.AttemptQueryResult {
	result := contract.AttemptQueryResult{ID: n.options.ID, Instance: n.instance}
	var running *jobs.Running
	result.State, running, result.Outcome = n.jobs.Attempt(in)
	if running != nil {
		result.Job = new(reported(*running))
	}
	return result
}

// Queues lists the queues that the node polls for work, its own first.
func (n *Node) Queues() []string {
	queues := []string{contract.WorkerQueue(n.options.ID, n.instance), contract.WorkerDetectQueue(n.options.ID, n.instance)}
	for _, jobType := range n.options.Shared {
		queues = append(queues, contract.SharedQueue(jobType))
	}
	return queues
}
