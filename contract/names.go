package contract

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Workflow types.
const (
	JobGroupWorkflow = "roundsman.JobGroup"
	DAGWorkflow      = "roundsman.DAG"
	FleetWorkflow    = "roundsman.Fleet"
)

// DetectActivity and ExecuteActivity run on node workers, the others in the control plane.
const (
	PrepareActivity        = "roundsman.Prepare"
	EnsureFleetActivity    = "roundsman.EnsureFleet"
	GiveUpActivity         = "roundsman.GiveUp"
	ObserveWorkersActivity = "roundsman.ObserveWorkers"
	ProbeWorkerActivity    = "roundsman.ProbeWorker"
	DetectActivity         = "roundsman.Detect"
	ExecuteActivity        = "roundsman.Execute"
)

// ControlQueue is the task queue of the control plane: all workflows and the control activities.
const ControlQueue = "roundsman/control"

// PollPatience bounds a pause: a process without a poll for that long has ended, although the server lists it for five minutes.
const PollPatience = 75 * time.Second

// A completed run has no SearchAttributeOutcome. This saves an event and a visibility write in the most frequent run,
// which finds no work.
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

// ScheduleID returns the id of a job type's Schedule.
func ScheduleID(jobType string) string { return schedulePrefix + jobType }

// JobTypeOfSchedule is the inverse of [ScheduleID].
func JobTypeOfSchedule(scheduleID string) (string, bool) {
	return strings.CutPrefix(scheduleID, schedulePrefix)
}

// GroupWorkflowID returns the workflow id in a Schedule's action. The server appends "-" and the tick's time.
func GroupWorkflowID(jobType string) string { return groupPrefix + jobType }

// DryRunWorkflowID returns the id of a dry run (`start --dry-run`); unique separates dry runs.
func DryRunWorkflowID(jobType, unique string) string {
	return groupPrefix + jobType + detectInfix + unique
}

// WorkerQueue includes the instance, so an old process never receives new work.
func WorkerQueue(workerID, instance string) string {
	return workerPrefix + workerID + "/" + instance
}

// WorkerDetectQueue returns the private queue for detections.
func WorkerDetectQueue(workerID, instance string) string {
	return WorkerQueue(workerID, instance) + detectSuffix
}

// WorkerControlSuffix ends the name of every [WorkerControlQueue].
const WorkerControlSuffix = "/control"

// WorkerControlQueue returns the private queue of a worker's queries, see [WorkerWorkflow].
func WorkerControlQueue(workerID, instance string) string {
	return WorkerQueue(workerID, instance) + WorkerControlSuffix
}

// WorkerWorkflowID is the id of the workflow through which a worker's current process answers queries.
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

// SharedQueuePrefix begins the shared queues of all job types.
const SharedQueuePrefix = typePrefix

// SharedQueue returns the queue of a job type with routing `shared`.
func SharedQueue(jobType string) string { return typePrefix + jobType }

// QueryOpen finds open workflows. Server 1.29 refuses the name of the status Paused.
const QueryOpen = "CloseTime IS NULL"

// JobID returns the id of the n-th accepted proposal of a group, counted from 1.
func JobID(n int) string { return fmt.Sprintf("%s%05d", jobPrefix, n) }

// JobNumber is the inverse of [JobID]. It accepts the id of an attempt too.
func JobNumber(jobID string) (int, bool) {
	digits, ok := strings.CutPrefix(JobOfAttempt(jobID), jobPrefix)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && n > 0
}

// No job id and no task id (including fan-outs such as a.#2) contains attemptMark.
const attemptMark = "@"

// AttemptID returns the activity id of the n-th attempt, from 1. The first has the id of the job, for the Web UI;
// later ones end in "@n". Ids are never reused: an attempt that ignores its cancellation may still be open.
func AttemptID(job string, n int) string {
	if n <= 1 {
		return job
	}
	return job + attemptMark + strconv.Itoa(n)
}

// AdoptionID returns the activity id of the k-th adoption of an attempt, counted from 1.
func AdoptionID(job string, attempt, k int) string {
	return fmt.Sprintf("%s%s%d+%d", job, attemptMark, attempt, k)
}

// JobOfAttempt returns the job or task of an attempt's activity id.
func JobOfAttempt(activityID string) string {
	job, _, _ := strings.Cut(activityID, attemptMark)
	return job
}

// ParseAttemptID is the inverse of [AttemptID] and [AdoptionID].
func ParseAttemptID(activityID string) (job string, attempt int, adoption bool) {
	job, number, later := strings.Cut(activityID, attemptMark)
	number, _, adoption = strings.Cut(number, "+")
	attempt, err := strconv.Atoi(number)
	if !later || err != nil {
		attempt = 1
	}
	return job, attempt, adoption
}

// DetectID returns the activity id of the n-th detection of a group, counted from 1.
func DetectID(n int) string { return fmt.Sprintf("detect-%d", n) }
