package contract

import (
	"fmt"
	"strconv"
	"strings"
)

// Workflow types.
const (
	JobGroupWorkflow = "roundsman.JobGroup"
	DAGWorkflow      = "roundsman.DAG"
	FleetWorkflow    = "roundsman.Fleet"
)

// Activity types. PrepareActivity, ObserveWorkersActivity and
// EnsureFleetActivity run in the control plane, the others on node workers.
const (
	PrepareActivity        = "roundsman.Prepare"
	EnsureFleetActivity    = "roundsman.EnsureFleet"
	GiveUpActivity         = "roundsman.GiveUp"
	ObserveWorkersActivity = "roundsman.ObserveWorkers"
	ProbeWorkerActivity    = "roundsman.ProbeWorker"
	DetectActivity         = "roundsman.Detect"
	ExecuteActivity        = "roundsman.Execute"
)

// ControlQueue is the task queue of the control plane: all workflows and the
// control activities.
const ControlQueue = "roundsman/control"

// Search attributes, both of type Keyword. A run of the outcome completed has no
// SearchAttributeOutcome: its status Completed tells it, and an event and a write to
// visibility less count in the most frequent run of all, which finds nothing to do.
const (
	SearchAttributeJobType = "RoundsmanJobType"
	SearchAttributeOutcome = "RoundsmanOutcome"
)

// FleetWorkflowID is the id of the one worker registry of a namespace.
const FleetWorkflowID = "fleet"

const (
	schedulePrefix = "jobtype/"
	groupPrefix    = "group/"
	workerPrefix   = "roundsman/worker/"
	detectSuffix   = "/detect"
	typePrefix     = "roundsman/type/"
	jobPrefix      = "job-"
	askPrefix      = "worker/"
)

// ScheduleID is the id of a job type's Schedule.
func ScheduleID(jobType string) string { return schedulePrefix + jobType }

// JobTypeOfSchedule is the inverse of [ScheduleID].
func JobTypeOfSchedule(scheduleID string) (string, bool) {
	return strings.CutPrefix(scheduleID, schedulePrefix)
}

// GroupWorkflowID is what a Schedule's action names its workflow; the server
// appends "-" and the tick's time.
func GroupWorkflowID(jobType string) string { return groupPrefix + jobType }

// DryRunWorkflowID names a dry run (`jobtypes detect`); unique tells several
// apart.
func DryRunWorkflowID(jobType, unique string) string {
	return groupPrefix + jobType + "-detect-" + unique
}

// WorkerQueue is the private queue on which one incarnation of a worker takes
// jobs. The instance is in the name, so that an old process never draws new
// work.
func WorkerQueue(workerID, instance string) string {
	return workerPrefix + workerID + "/" + instance
}

// WorkerDetectQueue is the private queue on which it takes detections.
func WorkerDetectQueue(workerID, instance string) string {
	return WorkerQueue(workerID, instance) + detectSuffix
}

// WorkerControlSuffix ends the name of every [WorkerControlQueue].
const WorkerControlSuffix = "/control"

// WorkerControlQueue is the private queue on which it answers for itself, see
// [WorkerWorkflow].
func WorkerControlQueue(workerID, instance string) string {
	return WorkerQueue(workerID, instance) + WorkerControlSuffix
}

// WorkerWorkflowID is the workflow through which the worker's current process
// answers.
func WorkerWorkflowID(workerID string) string { return askPrefix + workerID }

// WorkerOfQueue is the inverse of [WorkerQueue] and [WorkerDetectQueue].
func WorkerOfQueue(queue string) (workerID, instance string, detect, ok bool) {
	rest, ok := strings.CutPrefix(queue, workerPrefix)
	if !ok {
		return "", "", false, false
	}
	rest, detect = strings.CutSuffix(rest, detectSuffix)
	workerID, instance, ok = strings.Cut(rest, "/")
	if !ok || workerID == "" || instance == "" || strings.Contains(instance, "/") {
		return "", "", false, false
	}
	return workerID, instance, detect, true
}

// SharedQueuePrefix is what the shared queues of all job types begin with.
const SharedQueuePrefix = typePrefix

// SharedQueue is the queue of a job type with routing `shared`.
func SharedQueue(jobType string) string { return typePrefix + jobType }

// QueryOpen is the query of visibility for what is open, whether it runs or was
// paused in Temporal itself. Server 1.29 does not know the status Paused and refuses
// a query that names it.
const QueryOpen = "CloseTime IS NULL"

// JobID names the n-th accepted proposal of a group, counted from 1.
func JobID(n int) string { return fmt.Sprintf("%s%05d", jobPrefix, n) }

// JobNumber is the inverse of [JobID]; it takes the id of an attempt too.
func JobNumber(jobID string) (int, bool) {
	digits, ok := strings.CutPrefix(JobOfAttempt(jobID), jobPrefix)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && n > 0
}

// attemptMark stands between a job and the number of its attempt. Neither job ids
// nor task ids, of which a fan-out makes some like a.#2, can contain it.
const attemptMark = "@"

// AttemptID is the activity id of the n-th attempt of a job or task, counted from
// 1: the first one's is the job's own, so that it is found under it in the Web UI,
// and a later one's ends with "@n". An id is never used twice in a workflow run:
// the SDK keeps that of a canceled activity for good once it ended in any other
// way, and an attempt that ignores its cancellation may still be open.
func AttemptID(job string, n int) string {
	if n <= 1 {
		return job
	}
	return job + attemptMark + strconv.Itoa(n)
}

// AdoptionID is the activity id of the k-th adoption of that attempt, counted from
// 1.
func AdoptionID(job string, attempt, k int) string {
	return fmt.Sprintf("%s%s%d+%d", job, attemptMark, attempt, k)
}

// JobOfAttempt is the job, or task, of which the activity is an attempt.
func JobOfAttempt(activityID string) string {
	job, _, _ := strings.Cut(activityID, attemptMark)
	return job
}

// DetectID names the n-th detection of a group as an activity, counted from 1.
func DetectID(n int) string { return fmt.Sprintf("detect-%d", n) }
