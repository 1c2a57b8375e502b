package contract

import "time"

// WorkerWorkflow is the workflow type for queries to one worker process, which starts it on its own
// [WorkerControlQueue]. It ends at once. Its queries leave no trace in any history.
const WorkerWorkflow = "roundsman.Worker"

const (
	// QueryReport takes no argument and returns a [WorkerReport].
	QueryReport = "report"
	// QueryRefresh returns a new WorkerReport. The worker then reads its settings at once instead of within a minute.
	QueryRefresh = "refresh"
	// QueryAttempt takes an [AttemptQueryInput] and returns an [AttemptQueryResult].
	QueryAttempt = "attempt"
	// QueryLog takes a [LogQueryInput] and returns a [LogQueryResult].
	QueryLog = "log"
	// QueryArtifact takes an [ArtifactQueryInput] and returns an [ArtifactQueryResult].
	QueryArtifact = "artifact"
	// QueryWorkerUsage takes no argument and returns a [WorkerUsage].
	QueryWorkerUsage = "usage"
)

// WorkerUsage is the use of a process's job slots in the last hours, kept only in memory.
type WorkerUsage struct {
	ID       string            `json:"id"`
	Instance string            `json:"instance"`
	At       time.Time         `json:"at"`
	Spans    []WorkerUsageSpan `json:"spans"`
}

// WorkerUsageSpan is one span of time, oldest first; the last one is still open.
type WorkerUsageSpan struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Mean number of slots in use, share of time without a free slot, and number of slots at the end.
	Used  float64 `json:"used"`
	Full  float64 `json:"full"`
	Slots int     `json:"slots"`
}

// ArtifactQueryInput requests the list of an attempt's artifacts, or a part of the artifact Name.
type ArtifactQueryInput struct {
	GroupID string `json:"group_id"`
	JobID   string `json:"job_id"`
	// Attempt 0 means the newest one whose output the worker keeps.
	Attempt int    `json:"attempt,omitempty"`
	Name    string `json:"name,omitempty"`
	Offset  int64  `json:"offset,omitempty"`
}

// ArtifactQueryResult is a list, or a part of at most 256 KiB.
type ArtifactQueryResult struct {
	ID       string `json:"id"`
	Instance string `json:"instance"`
	Attempt  int    `json:"attempt,omitempty"`
	// Files is false for a worker without data directory, which keeps none.
	Files     bool       `json:"files,omitempty"`
	Artifacts []Artifact `json:"artifacts,omitempty"`
	// Known is false if the named artifact is not kept. Data is empty at its end.
	Known bool   `json:"known,omitempty"`
	Data  []byte `json:"data,omitempty"`
}

// Artifact is a file that an attempt has left.
type Artifact struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	// Error is the reason for which its content is not kept.
	Error string `json:"error,omitempty"`
}

// LogQueryInput requests the output of an attempt. GroupID is the workflow id of the run.
type LogQueryInput struct {
	GroupID string `json:"group_id"`
	JobID   string `json:"job_id"`
	// Attempt 0 means the newest attempt in the process.
	Attempt int `json:"attempt,omitempty"`
	// Offset counts bytes from the start of the output, from its end if negative.
	Offset int64 `json:"offset,omitempty"`
	// Limit is the maximum number of bytes returned. Default and maximum: 256 KiB.
	Limit int `json:"limit,omitempty"`
}

// LogQueryResult is a part of the output that the worker process keeps.
type LogQueryResult struct {
	ID       string `json:"id"`
	Instance string `json:"instance"`
	// Known is false if the attempt printed nothing or its output is not kept.
	Known   bool `json:"known"`
	Attempt int  `json:"attempt,omitempty"`
	// Offset is the start of Text, Next the start of the next part.
	Offset    int64     `json:"offset"`
	Next      int64     `json:"next"`
	Text      string    `json:"text"`
	Running   bool      `json:"running,omitempty"`
	StartedAt time.Time `json:"started_at,omitzero"`
	// Start of the process. Files: outputs also lie on its disk, for the next process.
	Since time.Time `json:"since,omitzero"`
	Files bool      `json:"files,omitempty"`
}

// AttemptQueryInput identifies one attempt of a job or task. GroupID is the workflow id of the run.
type AttemptQueryInput struct {
	GroupID string `json:"group_id"`
	JobID   string `json:"job_id"`
	Attempt int    `json:"attempt"`
	Fence   int64  `json:"fence"`
}

// AttemptState is the state of an attempt in its worker process.
type AttemptState string

// The states of an attempt on its worker.
const (
	// AttemptRunning: its handler runs in this process.
	AttemptRunning AttemptState = "running"
	// AttemptEnded: its handler has ended with Outcome.
	AttemptEnded AttemptState = "ended"
	// AttemptUnknown: this process neither runs it nor has its outcome.
	AttemptUnknown AttemptState = "unknown"
)

// AttemptQueryResult is the result of [QueryAttempt].
type AttemptQueryResult struct {
	ID       string       `json:"id"`
	Instance string       `json:"instance"`
	State    AttemptState `json:"state"`
	// Job is set while the process runs or reports the attempt.
	Job *WorkerJob `json:"job,omitempty"`
	// Outcome is set for AttemptEnded.
	Outcome *ExecuteState `json:"outcome,omitempty"`
}

// WorkerReport is the state of a worker process.
type WorkerReport struct {
	ID       string `json:"id"`
	Instance string `json:"instance"`
	// At is the time of the report by the worker's clock.
	At time.Time `json:"at"`
	// Caps are the caps in force.
	Caps      WorkerCaps `json:"caps"`
	Detecting int        `json:"detecting"`
	Executing int        `json:"executing"`
	// Handlers that ignore their canceled context, included in Executing and Detecting.
	Zombies int `json:"zombies,omitempty"`
	// Outcomes not yet accepted by the server, also of predecessors.
	Undelivered int `json:"undelivered,omitempty"`
	// Registered is the registry's last answer about this process.
	Registered bool `json:"registered"`
	// Held: drained or cordoned by an operator; polls no shared queue.
	Held bool `json:"held,omitempty"`
	// Jobs that wait on the worker for a slot, by job type, and detections.
	Queued           map[string]int `json:"queued,omitempty"`
	QueuedDetections map[string]int `json:"queued_detections,omitempty"`
	// Stopping: accepts no new work and will end.
	Stopping bool `json:"stopping,omitempty"`
	// Jobs lists the running jobs, oldest first, at most [MaxReportJobs]. Omitted counts the rest.
	Jobs    []WorkerJob `json:"jobs"`
	Omitted int         `json:"omitted,omitempty"`
}

// MaxReportJobs bounds a report to the size of a query result.
const MaxReportJobs = 1000

// WorkerJobState is the state of a running job on its worker.
type WorkerJobState string

// The states of a job on its worker.
const (
	WorkerJobRunning WorkerJobState = "running"
	// WorkerJobOrphaned: the handler runs, but the server timed out its activity. It stops unless adopted.
	WorkerJobOrphaned WorkerJobState = "orphaned"
	// WorkerJobEnding: the handler was canceled and has not ended.
	WorkerJobEnding WorkerJobState = "ending"
	// WorkerJobLost: the process does not answer; an open run has the job there.
	WorkerJobLost WorkerJobState = "lost"
	// WorkerJobReporting: the handler has ended; the server has not accepted the outcome yet.
	WorkerJobReporting WorkerJobState = "reporting"
	// WorkerJobZombie: the handler ignores its cancellation.
	WorkerJobZombie WorkerJobState = "zombie"
)

// WorkerJobStates lists the states for filters.
func WorkerJobStates() []WorkerJobState {
	return []WorkerJobState{WorkerJobRunning, WorkerJobOrphaned, WorkerJobEnding, WorkerJobReporting, WorkerJobZombie, WorkerJobLost}
}

// WorkerJob is a job or a detection on a worker.
type WorkerJob struct {
	JobID     string         `json:"job_id"`
	GroupID   string         `json:"group_id"`
	JobType   string         `json:"job_type"`
	Handler   string         `json:"handler"`
	Detection bool           `json:"detection,omitempty"`
	State     WorkerJobState `json:"state"`
	Attempt   int            `json:"attempt"`
	StartedAt time.Time      `json:"started_at"`
	// Percent is 0..100, or negative if unknown. ReportedAt is the time of the handler's last report.
	Percent    float64   `json:"percent"`
	Stage      string    `json:"stage,omitempty"`
	Message    string    `json:"message,omitempty"`
	ReportedAt time.Time `json:"reported_at,omitzero"`
}

// WorkerCaps is the maximum number of concurrent detections and jobs on one worker.
type WorkerCaps struct {
	MaxDetect  int `json:"max_detect"`
	MaxExecute int `json:"max_execute"`
}

// MaxWorkerCap is the largest cap that one process can poll for.
const MaxWorkerCap = 10_000

// Caps returns the caps in force: the operator's, otherwise those at the start of the worker.
func (r WorkerRegistration) Caps() WorkerCaps {
	if r.Resized != nil {
		return *r.Resized
	}
	return WorkerCaps{MaxDetect: r.MaxDetect, MaxExecute: r.MaxExecute}
}

const (
	// UpdateResizeWorker takes a ResizeWorkerInput and returns a WorkerDetail. It refuses unknown workers and caps.
	UpdateResizeWorker = "resize-worker"
	// QuerySettings takes a KnownInput and returns a WorkerSettings.
	QuerySettings = "worker-settings"
	// QueryStanding takes a StandingInput and returns a StandingResult.
	QueryStanding = "worker-standing"
)

// StandingInput names incarnations, at most [MaxWorkers].
type StandingInput struct {
	Of []Incarnation `json:"of"`
}

// StandingResult has the settings of each incarnation, in the order of the input.
type StandingResult struct {
	Settings []WorkerSettings `json:"settings"`
}

// ResizeWorkerInput changes the caps of a worker. They survive restarts of the worker.
type ResizeWorkerInput struct {
	ID string `json:"id"`
	// MaxDetect and MaxExecute are the new caps; 0 leaves a cap unchanged.
	MaxDetect  int `json:"max_detect,omitempty"`
	MaxExecute int `json:"max_execute,omitempty"`
	// Reset restores the caps from the start of the worker.
	Reset  bool   `json:"reset,omitempty"`
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// WorkerSettings are the settings of a worker in the registry.
type WorkerSettings struct {
	// Known means that this incarnation is registered; otherwise all other fields are zero.
	Known bool `json:"known"`
	// Resized are the caps set by an operator; nil means the worker's own.
	Resized *WorkerCaps `json:"resized,omitempty"`
	// DRAINING or CORDONED: the worker must not poll shared queues. Kept is the operator's transition.
	Held bool              `json:"held,omitempty"`
	Kept *WorkerTransition `json:"kept,omitempty"`
	// Left means that this incarnation has deregistered.
	Left bool `json:"left,omitempty"`
	// Heartbeat interval and thresholds for the worker, if the registry has them.
	Fleet *FleetConfig `json:"fleet,omitempty"`
}
