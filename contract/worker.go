package contract

import "time"

// WorkerWorkflow is the type of the workflow through which one worker process
// answers for itself. The process starts it on its own [WorkerControlQueue],
// where it ends at once; what stays is that its queries are answered by that
// process and nobody else, without a trace in any history. A process that is
// gone does not answer.
const WorkerWorkflow = "roundsman.Worker"

const (
	// QueryReport takes nothing and answers a [WorkerReport].
	QueryReport = "report"
	// QueryRefresh takes nothing and answers a WorkerReport of that moment; the
	// worker then asks the registry for its settings at once, instead of within
	// a minute. Repeating it is harmless.
	QueryRefresh = "refresh"
	// QueryAttempt takes an [AttemptQueryInput] and answers an [AttemptQueryResult].
	QueryAttempt = "attempt"
	// QueryLog takes a [LogQueryInput] and answers a [LogQueryResult].
	QueryLog = "log"
	// QueryWorkerUsage takes nothing and answers a [WorkerUsage].
	QueryWorkerUsage = "usage"
)

// WorkerUsage is how much of its slots for jobs a worker process used in the last hours,
// since it was started: it is kept in its memory alone.
type WorkerUsage struct {
	ID       string            `json:"id"`
	Instance string            `json:"instance"`
	At       time.Time         `json:"at"`
	Spans    []WorkerUsageSpan `json:"spans"`
}

// WorkerUsageSpan is a part of the past, the oldest first; the last one is not over yet.
type WorkerUsageSpan struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Used is the mean number of slots in use, Full the share of the time in which no
	// slot was free, 0 to 1; Slots is how many there were at the end.
	Used  float64 `json:"used"`
	Full  float64 `json:"full"`
	Slots int     `json:"slots"`
}

// LogQueryInput asks for what an attempt has printed. GroupID is the id of the run's
// workflow.
type LogQueryInput struct {
	GroupID string `json:"group_id"`
	JobID   string `json:"job_id"`
	// Attempt 0 is the newest one that the process knows.
	Attempt int `json:"attempt,omitempty"`
	// Offset counts bytes from the beginning of the attempt, from its end if negative.
	Offset int64 `json:"offset,omitempty"`
	// Limit is the most bytes of the answer; 0, and at most: 256 KiB.
	Limit int `json:"limit,omitempty"`
}

// LogQueryResult is a part of what an attempt has printed, as far as its worker's
// process keeps it.
type LogQueryResult struct {
	ID       string `json:"id"`
	Instance string `json:"instance"`
	// Known is false for an attempt that printed nothing, or of which nothing is kept.
	Known   bool `json:"known"`
	Attempt int  `json:"attempt,omitempty"`
	// Offset is where Text begins, Next where the next part does.
	Offset    int64     `json:"offset"`
	Next      int64     `json:"next"`
	Text      string    `json:"text"`
	Running   bool      `json:"running,omitempty"`
	StartedAt time.Time `json:"started_at,omitzero"`
}

// AttemptQueryInput names one attempt of one job or task. GroupID is the id of the
// run's workflow.
type AttemptQueryInput struct {
	GroupID string `json:"group_id"`
	JobID   string `json:"job_id"`
	Attempt int    `json:"attempt"`
	Fence   int64  `json:"fence"`
}

// AttemptState is what a worker process knows of an attempt.
type AttemptState string

// The states of an attempt on its worker.
const (
	// AttemptRunning: its handler runs in this process.
	AttemptRunning AttemptState = "running"
	// AttemptEnded: its handler has ended; Outcome says how.
	AttemptEnded AttemptState = "ended"
	// AttemptUnknown: this process does not run it and has no outcome of it.
	AttemptUnknown AttemptState = "unknown"
)

// AttemptQueryResult answers [QueryAttempt].
type AttemptQueryResult struct {
	ID       string       `json:"id"`
	Instance string       `json:"instance"`
	State    AttemptState `json:"state"`
	// Job is set while the process runs or reports it.
	Job *WorkerJob `json:"job,omitempty"`
	// Outcome is set for AttemptEnded.
	Outcome *ExecuteState `json:"outcome,omitempty"`
}

// WorkerReport is what a worker process says about itself.
type WorkerReport struct {
	ID       string `json:"id"`
	Instance string `json:"instance"`
	// At is when it said so, by its own clock.
	At time.Time `json:"at"`
	// Caps are those in force.
	Caps WorkerCaps `json:"caps"`
	// Detecting and Executing count what runs.
	Detecting int `json:"detecting"`
	Executing int `json:"executing"`
	// Zombies are handlers that ignore their canceled context. They are part of
	// what runs.
	Zombies int `json:"zombies,omitempty"`
	// Undelivered counts outcomes that the server has not taken yet, of this
	// process and those before it.
	Undelivered int `json:"undelivered,omitempty"`
	// Registered: the registry's last answer was that it knows this process.
	Registered bool `json:"registered"`
	// Held: an operator drains or cordons it; it pulls no shared queue.
	Held bool `json:"held,omitempty"`
	// Stopping: it takes nothing new and will end.
	Stopping bool `json:"stopping,omitempty"`
	// Jobs are what runs, oldest first, at most [MaxReportJobs]; Omitted counts
	// the rest.
	Jobs    []WorkerJob `json:"jobs"`
	Omitted int         `json:"omitted,omitempty"`
}

// MaxReportJobs bounds a report to what a query may carry.
const MaxReportJobs = 1000

// WorkerJobState is what a running job does.
type WorkerJobState string

// The states of a job on its worker.
const (
	// WorkerJobRunning: its handler works.
	WorkerJobRunning WorkerJobState = "running"
	// WorkerJobOrphaned: its handler works, but the server has given its activity up;
	// it ends unless the run adopts it.
	WorkerJobOrphaned WorkerJobState = "orphaned"
	// WorkerJobEnding: its handler was asked to end.
	WorkerJobEnding WorkerJobState = "ending"
	// WorkerJobReporting: its handler has ended and the server has not yet taken
	// the outcome.
	WorkerJobReporting WorkerJobState = "reporting"
	// WorkerJobZombie: its handler ignores that it was asked to end.
	WorkerJobZombie WorkerJobState = "zombie"
)

// WorkerJobStates lists the states, for those who filter by them.
func WorkerJobStates() []WorkerJobState {
	return []WorkerJobState{WorkerJobRunning, WorkerJobOrphaned, WorkerJobEnding, WorkerJobReporting, WorkerJobZombie}
}

// WorkerJob is a job or a detection that runs on a worker.
type WorkerJob struct {
	JobID     string         `json:"job_id"`
	GroupID   string         `json:"group_id"`
	JobType   string         `json:"job_type"`
	Handler   string         `json:"handler"`
	Detection bool           `json:"detection,omitempty"`
	State     WorkerJobState `json:"state"`
	Attempt   int            `json:"attempt"`
	StartedAt time.Time      `json:"started_at"`
	// Percent is 0..100, or negative if unknown; Stage and Message are the
	// handler's own words, ReportedAt is its last sign of life.
	Percent    float64   `json:"percent"`
	Stage      string    `json:"stage,omitempty"`
	Message    string    `json:"message,omitempty"`
	ReportedAt time.Time `json:"reported_at,omitzero"`
}

// WorkerCaps is how much one worker runs at once.
type WorkerCaps struct {
	MaxDetect  int `json:"max_detect"`
	MaxExecute int `json:"max_execute"`
}

// MaxWorkerCap is beyond what one process can usefully poll for.
const MaxWorkerCap = 10_000

// Caps are the worker's limits in force: those that an operator gave it, or
// else those that it was started with.
func (r WorkerRegistration) Caps() WorkerCaps {
	if r.Resized != nil {
		return *r.Resized
	}
	return WorkerCaps{MaxDetect: r.MaxDetect, MaxExecute: r.MaxExecute}
}

const (
	// UpdateResizeWorker takes a ResizeWorkerInput and answers a WorkerDetail;
	// refused for a worker that is not known, or caps out of range.
	UpdateResizeWorker = "resize-worker"
	// QuerySettings takes a KnownInput and answers a WorkerSettings.
	QuerySettings = "worker-settings"
)

// ResizeWorkerInput changes how much a worker runs at once, until it is
// resized again. It outlives restarts of the worker.
type ResizeWorkerInput struct {
	ID string `json:"id"`
	// MaxDetect and MaxExecute are the new caps; 0 leaves one as it is.
	MaxDetect  int `json:"max_detect,omitempty"`
	MaxExecute int `json:"max_execute,omitempty"`
	// Reset goes back to what the worker was started with.
	Reset  bool   `json:"reset,omitempty"`
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// WorkerSettings is what the registry tells a worker.
type WorkerSettings struct {
	// Known: exactly this incarnation is registered. If not, nothing else is
	// set.
	Known bool `json:"known"`
	// Resized are the caps that an operator gave it; nil: its own.
	Resized *WorkerCaps `json:"resized,omitempty"`
	// Held: it is DRAINING or CORDONED and must not pull shared queues. Kept says by
	// whose word.
	Held bool              `json:"held,omitempty"`
	Kept *WorkerTransition `json:"kept,omitempty"`
	// Fleet has the heartbeat interval and the thresholds that the worker is
	// judged by; nil: the registry does not know them yet.
	Fleet *FleetConfig `json:"fleet,omitempty"`
}
